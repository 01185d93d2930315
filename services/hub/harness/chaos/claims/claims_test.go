package claims

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/store/emulator"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// short returns the options of a run on one of the stores.
func short(t *testing.T, store string) Options {
	t.Helper()
	o := Options{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PARLEY_KEYRING=off"}, Dir: t.TempDir(),
		Claimers: 16, Globs: 30, Kills: 3, Seed: 1, Notes: t.Output()}
	if store == "firestore" {
		o.Project, o.Emulator = emulator.Project(t), emulator.Shared(t) // or skips the test
	}
	return o
}

func TestNoFileHasTwoHoldersWhileHubsAreKilled(t *testing.T) {
	t.Parallel()
	binary, later := hubtest.Build(t), filepath.Join(t.TempDir(), "parley")
	hubtest.Must(t, program.BuildLater(t.Context(), later))
	for _, store := range []string{"sqlite", "firestore"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			o := short(t, store)
			o.Hub, o.Asleep = []string{binary, "serve"}, time.Second
			beside := 0
			if store == "sqlite" {
				o.Later, beside = []string{later, "serve"}, o.Kills
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			hubtest.Must(t, report.Write(t.Output()))
			if len(report.Violations) > 0 {
				t.Errorf("%d violations", len(report.Violations))
			}
			// A run in which nothing was held, refused or killed would have no violations either.
			if report.Claims < 20 || report.Refused == 0 || report.Kills != 3 || report.Sleeps != 1 || report.Beside != beside {
				t.Errorf("got %+v", report)
			}
		})
	}
}

func TestTheWitnessSeesDoubleHoldersAndStaleTokens(t *testing.T) {
	t.Parallel()
	one := made("d0/", func(d, _ int, _ string) bool { return d == 0 })
	two := made("d0/f1.go", func(d, f int, k string) bool { return d == 0 && f == 1 && k == "go" })
	other := made("d1/f1.go", func(d, f int, k string) bool { return d == 1 && f == 1 && k == "go" })
	claim := func(who string, shared bool, token int64, p pattern) *hold {
		return &hold{claimer: who, shared: shared, patterns: []pattern{p}, token: token, highest: token}
	}
	for name, c := range map[string]struct {
		first, second *hold
		ended         bool
		want          string
	}{
		"both exclusive":               {claim("a", false, 1, one), claim("b", false, 2, two), false, "d0/f1.go is held by a"},
		"one exclusive":                {claim("a", true, 1, two), claim("b", false, 2, one), false, "d0/f1.go is held by a"},
		"both shared":                  {claim("a", true, 2, one), claim("b", true, 1, two), false, ""},
		"different files":              {claim("a", false, 2, one), claim("b", false, 1, other), false, ""},
		"the same claimer":             {claim("a", false, 1, one), claim("a", false, 2, two), false, ""},
		"after the end":                {claim("a", false, 1, one), claim("b", false, 2, two), true, ""},
		"after it with an older token": {claim("a", false, 2, one), claim("b", false, 1, two), true, "under the token 2"},
	} {
		w := newWitness()
		w.begins(c.first)
		if c.ended {
			w.ends(c.first)
		}
		w.begins(c.second)
		got := strings.Join(w.violations(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestPatternsMatchSomeFilesAndOverlap(t *testing.T) {
	t.Parallel()
	random, overlaps := rand.New(rand.NewPCG(1, 1)), 0
	for range 200 {
		p, q := choose(random), choose(random)
		if len(p.matches) == 0 {
			t.Errorf("%s matches nothing", p.text)
		}
		both := &hold{patterns: []pattern{p, q}}
		if len(both.files()) < len(p.matches)+len(q.matches) {
			overlaps++
		}
	}
	if overlaps < 20 {
		t.Errorf("%d of 200 pairs overlap", overlaps)
	}
}
