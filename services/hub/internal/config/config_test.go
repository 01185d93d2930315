package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/admission"
	"parley.internal/services/hub/internal/config"
)

// parse returns the checked configuration of the serve command for the given variables and flags.
func parse(t *testing.T, env map[string]string, flags ...string) (*config.Config, error) {
	t.Helper()
	var c config.Config
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	c.ServeFlags(f, func(name string) string { return env[name] })
	if err := f.Parse(flags); err != nil {
		return &c, err
	}
	return &c, c.CheckServe()
}

type env = map[string]string

func TestDefaultsServeOnLoopback(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	c, err := parse(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:3001" || c.Data != "" || c.Store != "sqlite" ||
		c.Rate != 0 || c.TrustProxy != 0 || len(c.Origins) != 0 || !c.Loopback() {
		t.Errorf("got %+v", c)
	}
}

func TestAFlagTakesPrecedenceOverItsVariable(t *testing.T) {
	t.Parallel()
	vars := env{"PARLEY_ADDR": "127.0.0.1:1", "PARLEY_DATA": "/of/env", "PARLEY_STORE": "sqlite",
		"GOOGLE_CLOUD_PROJECT": "of-env", "PARLEY_RATE": "7",
		"PARLEY_BURST": "8", "PARLEY_TRUST_PROXY": "3",
		"PARLEY_ALLOWED_ORIGINS": "https://a.example,https://b.example", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:9",
		"PORT": "99"}
	c, err := parse(t, vars)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:1" || c.Data != "/of/env" || c.Project != "of-env" || c.Rate != 7 || c.Burst != 8 ||
		c.TrustProxy != 3 || c.EmulatorHost != "127.0.0.1:9" ||
		!slices.Equal(c.Origins, []string{"https://a.example", "https://b.example"}) {
		t.Errorf("from variables: got %+v", c)
	}
	c, err = parse(t, vars, "--addr", "[::1]:2", "--data=/of/flag", "--store", "firestore", "--project=of-flag",
		"--rate=0", "--burst=1", "--trust-proxy", "2", "--allow-origin", "https://c.example")
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "[::1]:2" || c.Data != "/of/flag" || c.Store != "firestore" || c.Project != "of-flag" || c.Rate != 0 ||
		c.Burst != 1 || c.TrustProxy != 2 ||
		!slices.Equal(c.Origins, []string{"https://c.example"}) || !c.Loopback() {
		t.Errorf("from flags: got %+v", c)
	}
}

func TestTheListenAddressDecidesTheDefaultLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		env      env
		flags    []string
		addr     string
		rate     float64
		proxy    int
		loopback bool
	}{
		{"PORT binds every interface, behind a proxy", env{"PORT": "8080"}, nil, ":8080", 50, 1, false},
		{"PARLEY_ADDR before PORT", env{"PORT": "8080", "PARLEY_ADDR": "127.0.0.1:1"}, nil, "127.0.0.1:1", 0, 1,
			true},
		{"--addr before PORT", env{"PORT": "8080"}, []string{"--addr=127.0.0.1:1"}, "127.0.0.1:1", 0, 1, true},
		{"every interface", nil, []string{"--addr=0.0.0.0:1"}, "0.0.0.0:1", 50, 0, false},
		{"every interface, without a host", nil, []string{"--addr=:1"}, ":1", 50, 0, false},
		{"every interface of IPv6", nil, []string{"--addr=[::]:1"}, "[::]:1", 50, 0, false},
		{"localhost", nil, []string{"--addr=localhost:1"}, "localhost:1", 0, 0, true},
		{"another name", nil, []string{"--addr=example.org:1"}, "example.org:1", 50, 0, false},
		{"a rate on a laptop", nil, []string{"--rate=3"}, "127.0.0.1:3001", 3, 0, true},
		{"no rate in the cloud", env{"PORT": "8080"}, []string{"--rate=0"}, ":8080", 0, 1, false},
		{"no proxy in the cloud", env{"PORT": "8080", "PARLEY_TRUST_PROXY": "0"}, nil, ":8080", 50, 0, false},
		{"a load balancer before the cloud", env{"PORT": "8080", "PARLEY_TRUST_PROXY": "2"}, nil, ":8080", 50, 2, false},
	} {
		got, err := parse(t, c.env, c.flags...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Addr != c.addr || got.Rate != c.rate || got.TrustProxy != c.proxy || got.Loopback() != c.loopback ||
			got.Burst != 200 {
			t.Errorf("%s: got %+v, loopback %t", c.name, got, got.Loopback())
		}
	}
}

func TestAnInvalidSettingIsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   env
		flags []string
		words string
	}{
		{nil, []string{"--store=postgres"}, `--store must be sqlite or firestore, not "postgres"`},
		{env{"PARLEY_STORE": "SQLite"}, nil, `not "SQLite"`},
		{nil, []string{"--store=firestore"}, "give --project or set GOOGLE_CLOUD_PROJECT"},
		{nil, []string{"--addr=3001"}, `--addr must be host:port, not "3001"`},
		{nil, []string{"--addr=127.0.0.1"}, "--addr must be host:port"},
		{nil, []string{"--addr=127.0.0.1:"}, "--addr must be host:port"},
		{nil, []string{"--allow-origin=example.org"}, `--allow-origin must be scheme://host[:port], not "example.org"`},
		{nil, []string{"--allow-origin=https://example.org/"}, "--allow-origin must be"},
		{nil, []string{"--allow-origin=null"}, "--allow-origin must be"},
		{nil, []string{"--rate=fast"}, "--rate"},
		{nil, []string{"--rate=5", "--burst=0"}, "--burst must be at least 1"},
		{nil, []string{"--rate=NaN"}, "--rate"},
		{nil, []string{"--trust-proxy=perhaps"}, "write --trust-proxy 1 for one proxy"},
		{nil, []string{"--trust-proxy=-1"}, "write --trust-proxy 1"},
		{nil, []string{"--trust-proxy=8080"}, "0 to 20"},
		// It was true or false once.
		{nil, []string{"--trust-proxy=true"}, "it is a number now: write --trust-proxy 1 for one proxy"},
		{nil, []string{"--trust-proxy=false"}, "it is a number now: write --trust-proxy 0 for no proxy"},
		{nil, []string{"--trust-proxy", "--rate=5"}, "write --trust-proxy 1 for one proxy"},
		{env{"PARLEY_TRUST_PROXY": "true"}, nil, "PARLEY_TRUST_PROXY=1"},
		{env{"PARLEY_TRUST_PROXY": "false"}, nil, "PARLEY_TRUST_PROXY=0"},
		{nil, []string{"--firebase-project=p", "--sign-in-allow=*"}, `--sign-in-allow: "*" is neither`},
		{nil, []string{"--firebase-project=p", "--sign-in-allow=local"}, "the server's own user"},
		{env{"PARLEY_FIREBASE_PROJECT": "p", "PARLEY_SIGN_IN_ALLOW": "ann,,ben"}, nil, `--sign-in-allow: "" is neither`},
		{nil, []string{"--sign-in-allow=ann"}, "give --firebase-project"},
		{nil, []string{"--no-such-flag"}, "--no-such-flag"},
		{nil, []string{"--public-url=parley.example.org"}, "--public-url must be a URL such as https://example.org"},
		{nil, []string{"--public-url=ftp://parley.example.org"}, "--public-url"},
		{nil, []string{"--public-url=https://ann@parley.example.org"}, "--public-url"},
		{nil, []string{"--fcm-endpoint=127.0.0.1:9"}, "--fcm-endpoint"},
		// Anyone can write a token of the Auth emulator.
		{env{"FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9099", "PARLEY_STORE": "firestore", "GOOGLE_CLOUD_PROJECT": "p"},
			nil, "FIREBASE_AUTH_EMULATOR_HOST is set beside a real Firestore"},
		{env{"FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9099"}, []string{"--addr=:1"}, "anyone could sign in as anyone"},
		// An invalid variable is refused like an invalid flag.
		{env{"PARLEY_RATE": "fast"}, nil, "PARLEY_RATE"},
		{env{"PARLEY_BURST": "many"}, nil, "PARLEY_BURST"},
		{env{"PARLEY_TRUST_PROXY": "perhaps"}, nil, "PARLEY_TRUST_PROXY"},
	} {
		if _, err := parse(t, c.env, c.flags...); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v %v: got %v, want %q", c.env, c.flags, err, c.words)
		}
	}
}

func TestAttackFilesAreServedToTheUsersOfThisMachineAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   env
		flags []string
		users string // or the words of the refusal
		ok    bool
	}{
		{nil, nil, "local", true},
		{nil, []string{"--workspace-root=/w"}, "local", true},
		{nil, []string{"--workspace-root=/w", "--addr=localhost:1"}, "local", true},
		{env{"PARLEY_WORKSPACE_ROOT": "/w", "PARLEY_WORKSPACE_USER": "ann,bob"}, nil, "ann,bob", true},
		{env{"PARLEY_WORKSPACE_USER": "ann"}, []string{"--workspace-user=bob", "--workspace-user=eve"}, "bob,eve", true},
		{nil, []string{"--workspace-root=/w", "--addr=:1"}, "others can reach the server at :1", false},
		{env{"PARLEY_WORKSPACE_ROOT": "/w", "PORT": "8080"}, nil, "give --workspace-anyway", false},
		{nil, []string{"--workspace-root=/w", "--public-url=https://p.example"},
			"others can reach the server at https://p.example", false},
		{nil, []string{"--workspace-root=/w", "--addr=:1", "--workspace-anyway"}, "local", true},
		{nil, []string{"--workspace-root=/w", "--public-url=https://p.example", "--workspace-anyway"}, "local", true},
		{nil, []string{"--workspace-root=/w", "--workspace-user="}, "--workspace-user must name a user", false},
		{nil, []string{"--workspace-root=/w", "--workspace-user=a b"}, `not "a b"`, false},
	} {
		got, err := parse(t, c.env, c.flags...)
		users := strings.Join(got.WorkspaceUsers, ",")
		if c.ok && (err != nil || users != c.users) || !c.ok && (err == nil || !strings.Contains(err.Error(), c.users)) {
			t.Errorf("%v %v: got users %q, %v; want %q", c.env, c.flags, users, err, c.users)
		}
	}
}

func TestSignInsOfOneProjectAreAccepted(t *testing.T) {
	t.Parallel()
	cloud := env{"PARLEY_STORE": "firestore", "GOOGLE_CLOUD_PROJECT": "p", "PORT": "8080"}
	for name, c := range map[string]struct {
		env   env
		flags []string
		want  string
	}{
		"none on a laptop":      {nil, nil, ""},
		"the store's project":   {cloud, nil, "p"},
		"another project":       {cloud, []string{"--firebase-project=q"}, "q"},
		"a project on a laptop": {env{"PARLEY_FIREBASE_PROJECT": "q"}, nil, "q"},
		"none on the Firestore emulator": {
			env{"PARLEY_STORE": "firestore", "GOOGLE_CLOUD_PROJECT": "p", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:8787"},
			nil, ""},
		"the Auth emulator": {
			env{"PARLEY_STORE": "firestore", "GOOGLE_CLOUD_PROJECT": "p", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:8787",
				"FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9099"}, nil, "p"},
	} {
		if got, err := parse(t, c.env, c.flags...); err != nil || got.FirebaseProject != c.want {
			t.Errorf("%s: %q, %v", name, got.FirebaseProject, err)
		}
	}
}

func TestTheServersOwnPageMayCallIt(t *testing.T) {
	t.Parallel()
	c, err := parse(t, env{"PARLEY_PUBLIC_URL": "https://parley.example.org/"}, "--allow-origin", "https://a.example")
	if err != nil || c.PublicURL != "https://parley.example.org" ||
		!slices.Equal(c.Origins, []string{"https://a.example", "https://parley.example.org"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestSignInsAdmitThoseWhoAreListed(t *testing.T) {
	t.Parallel()
	ann := admission.Person{UID: "ann"}
	for name, c := range map[string]struct {
		env   env
		flags []string
		want  int
		admit bool
	}{
		"nobody by default":     {nil, []string{"--firebase-project=p"}, 0, false},
		"a flag":                {nil, []string{"--firebase-project=p", "--sign-in-allow", "ann"}, 1, true},
		"a flag that is a list": {nil, []string{"--firebase-project=p", "--sign-in-allow=ben,ann,@example.org"}, 3, true},
		"a flag given twice":    {nil, []string{"--firebase-project=p", "--sign-in-allow=ben", "--sign-in-allow=ann"}, 2, true},
		"the variable": {env{"PARLEY_FIREBASE_PROJECT": "p",
			"PARLEY_SIGN_IN_ALLOW": "ann, ben@example.org"}, nil, 2, true},
		"a flag over the variable": {env{"PARLEY_FIREBASE_PROJECT": "p", "PARLEY_SIGN_IN_ALLOW": "ann"},
			[]string{"--sign-in-allow=ben"}, 1, false},
	} {
		got, err := parse(t, c.env, c.flags...)
		if err != nil || got.Allow.Len() != c.want || (got.Allow.Admit(ann) == nil) != c.admit {
			t.Errorf("%s: got %+v, %v; want %d entries, admitting ann %t", name, got.Allow, err, c.want, c.admit)
		}
	}
}

func TestLoopbackHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true,
		"[::1]": true, "": false,
		"0.0.0.0": false, "::": false, "localhost.example.org": false, "127.0.0.1.example.org": false,
		"10.0.0.1": false} {
		if got := config.IsLoopback(host); got != want {
			t.Errorf("%q: got %t, want %t", host, got, want)
		}
	}
}
