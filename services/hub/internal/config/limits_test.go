package config_test

import (
	"strings"
	"testing"
)

func TestTheLimitsOfUsersFollowTheAddressUnlessTheyAreGiven(t *testing.T) {
	t.Parallel()
	type limits struct {
		userRate  float64
		userBurst int
		key, user int
		documents int64
		bytes     int64
	}
	for name, c := range map[string]struct {
		env   env
		flags []string
		want  limits
	}{
		"on loopback":        {nil, nil, limits{0, 800, 64, 256, 0, 0}},
		"on every interface": {env{"PORT": "8080"}, nil, limits{200, 800, 64, 256, 1_000_000, 10 << 30}},
		"off, by flags": {env{"PORT": "8080"},
			[]string{"--user-rate=0", "--waits-key=0", "--waits-user=0", "--quota-documents=0", "--quota-bytes=0"},
			limits{0, 800, 0, 0, 0, 0}},
		"set on loopback": {nil,
			[]string{"--user-rate=7", "--user-burst=9", "--quota-documents=5", "--quota-bytes=6"},
			limits{7, 9, 64, 256, 5, 6}},
		"set by variables": {env{"PARLEY_USER_RATE": "1.5", "PARLEY_USER_BURST": "2", "PARLEY_WAITS_KEY": "3",
			"PARLEY_WAITS_USER": "4", "PARLEY_QUOTA_DOCUMENTS": "5", "PARLEY_QUOTA_BYTES": "6"}, nil,
			limits{1.5, 2, 3, 4, 5, 6}},
		"a flag over its own": {env{"PARLEY_WAITS_KEY": "3"}, []string{"--waits-key=5"}, limits{0, 800, 5, 256, 0, 0}},
	} {
		got, err := parse(t, c.env, c.flags...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		have := limits{got.UserRate, got.UserBurst, got.WaitsKey, got.WaitsUser, got.QuotaDocuments, got.QuotaBytes}
		if have != c.want {
			t.Errorf("%s: got %+v, want %+v", name, have, c.want)
		}
	}
}

func TestALimitThatCannotBeIsRefusedByName(t *testing.T) {
	t.Parallel()
	for words, c := range map[string]struct {
		env   env
		flags []string
	}{
		"--waits-key must be a number of calls": {nil, []string{"--waits-key=-1"}},
		"--waits-user must be":                  {nil, []string{"--waits-user=-1"}},
		"--waits must be":                       {nil, []string{"--waits=-1"}},
		"--rate must be a number of calls a second, or 0 for no limit: it cannot be negative": {nil, []string{"--rate=-5"}},
		"--user-rate must be a number of calls a second, or 0":                                {nil, []string{"--user-rate=-0.5"}},
		"--rate must be a number of calls":                                                    {nil, []string{"--rate=-1"}},
		"--burst must be a number of calls":                                                   {nil, []string{"--burst=-1"}},
		"--user-burst must be a number of calls":                                              {env{"PARLEY_USER_BURST": "-1"}, nil},
		"--quota-documents must be a number of docu":                                          {nil, []string{"--quota-documents=-1"}},
		"--quota-bytes must be a number of bytes":                                             {nil, []string{"--quota-bytes=-1"}},
		"--user-rate must be a number":                                                        {nil, []string{"--user-rate=NaN"}},
		"--user-burst must be at least 1":                                                     {nil, []string{"--user-rate=5", "--user-burst=0"}},
		`PARLEY_QUOTA_BYTES cannot be "10GB"`:                                                 {env{"PARLEY_QUOTA_BYTES": "10GB"}, nil},
		`PARLEY_QUOTA_DOCUMENTS cannot be "-1"`:                                               {env{"PARLEY_QUOTA_DOCUMENTS": "-1"}, nil},
		`PARLEY_WAITS cannot be "many"`:                                                       {env{"PARLEY_WAITS": "many"}, nil},
	} {
		if _, err := parse(t, c.env, c.flags...); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v %v: got %v, want %q", c.env, c.flags, err, words)
		}
	}
}

func TestTheWaitsOfAServerFollowItsMemory(t *testing.T) {
	t.Parallel()
	for memory, want := range map[int64]int{1 << 20: 256, 64 << 20: 256, 460 << 20: 1840, 1 << 30: 4096, 64 << 30: 4096} {
		c, err := parse(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.FitTo(memory); c.Waits != want {
			t.Errorf("%d MiB: %d waits, want %d", memory>>20, c.Waits, want)
		}
	}
	c, err := parse(t, nil, "--waits=10000")
	if err != nil {
		t.Fatal(err)
	}
	if c.FitTo(64 << 20); c.Waits != 10000 {
		t.Errorf("%d waits, want those of the flag", c.Waits)
	}
}
