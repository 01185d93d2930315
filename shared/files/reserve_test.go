package files

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

func TestAnExclusiveReservationConflictsWithAllThatOverlapsAndASharedOneWithExclusiveOnes(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for i, c := range []struct {
			held, mine     Mode
			heldPath, path string
			heldTree, tree string
			settings       SettingsInput
			ok, warned     bool
		}{
			{held: Exclusive, mine: Exclusive, heldPath: "src/", path: "src/a.go"},
			{held: Exclusive, mine: Shared, heldPath: "src/**/*.go", path: "src/"},
			{held: Shared, mine: Exclusive, heldPath: "src/", path: "**/a.go"},
			{held: Shared, mine: Shared, heldPath: "src/", path: "src/a.go", ok: true},
			{held: Exclusive, mine: Exclusive, heldPath: "src/", path: "docs/", ok: true},
			{held: Exclusive, mine: Exclusive, heldPath: "src/A.go", path: "src/a.go", ok: true},
			{held: Exclusive, mine: Exclusive, heldPath: "src/A.go", path: "src/a.go",
				settings: SettingsInput{IgnoreCase: true}},
			{held: Exclusive, mine: Exclusive, heldPath: "a", path: "a", heldTree: "main", tree: "fix", ok: true, warned: true},
			{held: Exclusive, mine: Exclusive, heldPath: "a", path: "a", heldTree: "main", tree: "fix",
				settings: SettingsInput{RefuseWorktrees: true}},
			{held: Exclusive, mine: Exclusive, heldPath: "a", path: "a", heldTree: "main", tree: "main"},
			{held: Exclusive, mine: Exclusive, heldPath: "a", path: "a", heldTree: "main"},
			{held: Exclusive, mine: Exclusive, heldPath: "a", path: "a", tree: "fix"},
		} {
			name, project := fmt.Sprintf("case %d", i), fmt.Sprintf("host/p/%d", i)
			c.settings.Project = project
			domaintest.Must(d.Service.Set(t.Context(), ann, c.settings))(t)
			domaintest.Must(d.Reserve(t.Context(), beta,
				ReserveInput{Project: project, Paths: []string{c.heldPath}, Mode: c.held, Worktree: c.heldTree}))(t)
			out, err := d.Reserve(t.Context(), alpha,
				ReserveInput{Project: project, Paths: []string{c.path}, Mode: c.mine, Worktree: c.tree})
			if !c.ok {
				domaintest.Refused(t, name, err, fault.Precondition, `"beta" holds `+c.heldPath)
				continue
			}
			if err != nil || (len(out.Warnings) > 0) != c.warned {
				t.Errorf("%s: %v, %v", name, out.Warnings, err)
			}
		}
	})
}

func TestAllPathsAreReservedOrNone(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("beta", "docs/", "lib/x.go")
		err := d.refuses("alpha", "src/", "docs/a.md", "lib/", "web/")
		for _, words := range []string{`others hold 2 of the 4 paths`, `docs/a.md: "beta" holds docs/ (exclusive) until 2026`,
			` to "beta", or give waitMs`} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not say %q", err, words)
			}
		}
		f := fault.From(err)
		if len(f.Problems) != 2 || f.Problems[0].Path != "paths[1]" || f.Problems[1].Path != "paths[2]" ||
			!strings.Contains(f.Problems[1].Message, "reservation "+reservationID(boardID(app), 2)) {
			t.Errorf("the details are %+v", f.Problems)
		}
		d.holds("beta docs/ | beta lib/x.go")
	})
}

func TestARefusalNamesEveryHolderOnce(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alphabet", "a/", "b/")
		d.takes("alpha.1", "c/")
		if err := d.refuses("beta", "**"); !strings.Contains(err.Error(), ` to "alphabet", "alpha/alpha.1", or`) {
			t.Errorf("%v", err)
		}
	})
}

func TestAHoldersOwnOverlapExtends(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		first := d.takes("alpha", "src/", "docs/")
		d.Pass(10 * time.Minute)
		again := d.takes("alpha", "./src/", "src/a.go")
		if again[0].Token != first[0].Token || again[0].Until != first[0].Until.Add(10*time.Minute) ||
			again[0].Since != first[0].Since || again[1].Token != 3 {
			t.Errorf("first %+v, again %+v", first, again)
		}
		short := domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Paths: []string{"src/"}, LeaseSeconds: 60}))(t)
		if short.Reservations[0].Until != again[0].Until {
			t.Errorf("a shorter lease ends it at %v, not %v", short.Reservations[0].Until, again[0].Until)
		}
		d.holds("alpha src/ | alpha docs/ | alpha src/a.go")
	})
}

func TestASharedReservationBecomesExclusiveUnderANewToken(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		share := ReserveInput{Paths: []string{"src/"}, Mode: Shared}
		domaintest.Must(d.Reserve(t.Context(), alpha, share))(t)
		domaintest.Must(d.Reserve(t.Context(), beta, share))(t)
		d.refuses("alpha", "src/")
		domaintest.Must(d.Release(t.Context(), beta, ReleaseInput{Project: app}))(t)
		if got := d.takes("alpha", "src/"); got[0].Token != 3 || got[0].Mode != Exclusive {
			t.Errorf("%+v", got)
		}
		// An exclusive reservation stays exclusive when its holder asks for a shared one.
		if got := domaintest.Must(d.Reserve(t.Context(), alpha, share))(t); got.Reservations[0].Mode != Exclusive {
			t.Errorf("%+v", got)
		}
		d.refuses("beta", "src/")
	})
}

func TestTokensGoUpThroughReleasesAndLeases(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		last := int64(0)
		for range 3 {
			for _, who := range []string{"alpha", "beta"} {
				got := d.takes(who, "src/", "docs/")
				if got[0].Token <= last || got[1].Token <= got[0].Token {
					t.Errorf("after %d come %d and %d", last, got[0].Token, got[1].Token)
				}
				last = got[1].Token
				if who == "alpha" {
					domaintest.Must(d.Release(t.Context(), alpha, ReleaseInput{Project: app}))(t)
				} else {
					d.Pass(30 * time.Minute)
				}
			}
		}
	})
}

func TestAHolderIsASessionOfAProgramOrAKey(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha.1", "src/")
		for _, who := range []string{"alpha", "alpha.2", "beta"} {
			d.refuses(who, "src/a.go")
		}
		d.takes("alpha.1", "src/a.go")
		_, err := d.Reserve(t.Context(), loose, ReserveInput{Paths: []string{"docs/"}})
		domaintest.Check(t, err)
		drift := loose
		drift.KeyID = "fedcba0000000000"
		_, err = d.Reserve(t.Context(), drift, ReserveInput{Paths: []string{"docs/a"}})
		domaintest.Refused(t, "another key", err, fault.Precondition, "key:0123456789ab holds docs/", "Work on something else")
	})
}

func TestAReservationEndsWithItsLeaseItsTaskOrItsSession(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for name, end := range map[string]func(){
			"lease":   func() { d.Pass(30 * time.Minute) },
			"task":    func() { d.setTask("task", task.Done) },
			"deleted": func() { d.put(func(tx *store.Tx) { task.Tasks.Delete(tx, "task") }) },
			"session": func() { d.setLife("beta.1", life{Ended: true}) },
		} {
			d.setTask("task", task.Created)
			d.setLife("beta.1", life{})
			in := ReserveInput{Paths: []string{"src/"}, SessionID: "beta.1", TaskID: "task"}
			if name == "lease" {
				in.TaskID = ""
			}
			domaintest.Must(d.Reserve(t.Context(), beta, in))(t)
			d.refuses("alpha", "src/a.go")
			check := CheckInput{Project: app, Paths: []string{"src/a.go"}}
			if got := domaintest.Must(d.Check(t.Context(), alpha, check))(t); got.Paths[0].State != Held {
				t.Errorf("before the end of its %s: %+v", name, got)
			}
			end()
			if got := domaintest.Must(d.Check(t.Context(), alpha, check))(t); got.Paths[0].State != Free {
				t.Errorf("after the end of its %s: %+v", name, got)
			}
			d.holds("")
			d.takes("alpha", "src/a.go")
			d.holds("alpha src/a.go")
			domaintest.Must(d.Release(t.Context(), alpha, ReleaseInput{Project: app}))(t)
		}
	})
}

func TestADryRunTellsWhatStandsInTheWayAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("beta", "src/")
		before := d.board()
		got := domaintest.Must(d.Reserve(t.Context(), alpha, ReserveInput{Paths: []string{"docs/", "src/a"}, DryRun: true}))(t)
		if len(got.Conflicts) != 1 || got.Conflicts[0].Path != "src/a" || got.Conflicts[0].Reservation.Holder != "beta" ||
			len(got.Reservations) != 0 {
			t.Errorf("%+v", got)
		}
		if after := d.board(); after.Token != before.Token || after.UpdatedAt != before.UpdatedAt {
			t.Errorf("it changed %+v to %+v", before, after)
		}
		if got := domaintest.Must(d.Reserve(t.Context(), beta, ReserveInput{Paths: []string{"src/a"}, DryRun: true}))(t); got.Conflicts != nil {
			t.Errorf("its own: %+v", got)
		}
	})
}

func TestARepeatedCallReservesOnce(t *testing.T) {
	t.Parallel()
	d := over(t, storetest.SQLite(t, schema()))
	cat := op.NewCatalogue(d.Operations())
	call := func() string {
		res, err := cat.Call(t.Context(), cat.Op("reserve_files"), op.Call{Caller: alpha,
			Input: op.Parse([]byte(`{"project":"p","paths":["a"],"idempotencyKey":"k"}`))})
		domaintest.Check(t, err)
		return string(res.Data)
	}
	first := call()
	domaintest.Must(d.Service.Release(t.Context(), alpha, ReleaseInput{Project: "p"}))(t)
	if again := call(); again != first {
		t.Errorf("first %s, again %s", first, again)
	}
	out := domaintest.Must(d.List(t.Context(), ann, ListInput{Project: "p"}))(t)
	if len(out.Reservations) != 0 {
		t.Errorf("the repetition reserved %+v", out)
	}
}

func TestReservationsInAnotherWorktreeAreToldToBothSides(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		domaintest.Must(d.Reserve(t.Context(), beta, ReserveInput{Paths: []string{"src/"}, Worktree: "main"}))(t)
		in := ReserveInput{Paths: []string{"src/a", "src/b"}, Worktree: "fix"}
		out := domaintest.Must(d.Reserve(t.Context(), alpha, in))(t)
		if len(out.Warnings) != 2 || !strings.Contains(out.Warnings[0], `in the worktree "main" "beta" holds src/`) {
			t.Errorf("warned: %q", out.Warnings)
		}
		domaintest.Must(d.Reserve(t.Context(), alpha, in))(t) // extends, and tells nobody again
		if got := d.notices.all(); len(got) != 1 || !strings.HasPrefix(got[0], `beta: "alpha" has reserved src/a of `+app+
			` in the worktree "fix"`) {
			t.Errorf("told: %q", got)
		}
		got := domaintest.Must(d.Check(t.Context(), gamma,
			CheckInput{Project: app, Paths: []string{"src/a"}, Worktree: "new"}))(t)
		if p := got.Paths[0]; p.State != Free || len(p.Elsewhere) != 2 {
			t.Errorf("checked: %+v", got)
		}
	})
}

func TestTheIDOfAProjectHasANormalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"GitHub.com/Acme/App": "github.com/Acme/App", "0a1b": "0a1b",
		"Zoe\u0308": "Zoë", "host/a/b/c": "host/a/b/c",
		"github.com/acme/app.git": "github.com/acme/app", "host/.git": "host/.git", "host/a/.git": "host/a/.git"} {
		if got, err := projectOf(text); got != want || err != nil {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a b", "a\nb", "https://host/a", "git@host:a/b", "host:22/a", "/a", "a\u202eb"} {
		if got, err := projectOf(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
