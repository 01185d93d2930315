package app

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/files"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// reservation is an exclusive reservation of a session, in the worktree main.
func reservation(session string, paths ...string) files.ReserveInput {
	return op.Fill(files.ReserveInput{Project: repository, Paths: paths, SessionID: session, Worktree: "main", Branch: "main"})
}

func TestAnEditOfWhatAnotherHoldsIsDenied(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		one, two := o.start(alpha, "one"), o.start(alpha, "two")
		_, err := o.Files.Reserve(t.Context(), alpha, reservation(two, "lib/"))
		domaintest.Check(t, err)
		edit := func(thread, worktree string, paths ...string) *wire.Files {
			return o.hook(alpha, wire.HookInput{Event: wire.Edit, Thread: thread, Project: repository, Worktree: worktree,
				Branch: "fix", Paths: paths}).Files
		}
		if f := edit("one", "main", "lib/a.go"); f.Verdict != wire.Deny || !strings.Contains(f.Reason[0], `"alpha/2" holds lib/`) {
			t.Errorf("%s edits what %s holds: %+v", one, two, f)
		}
		if f := edit("two", "main", "lib/a.go"); f.Verdict != wire.Pass {
			t.Errorf("its holder edits: %+v", f)
		}
		if f := edit("one", "fix", "lib/a.go"); f.Verdict != wire.Warn || !strings.Contains(f.Reason[0], `(branch "main")`) {
			t.Errorf("in another worktree: %+v", f)
		}
		if f := edit("one", "main", "b.go", "../c.go"); f.Verdict != wire.Warn || f.Reserved {
			t.Errorf("outside of the repository: %+v", f)
		}
		o.hook(alpha, wire.HookInput{Event: wire.End, Thread: "two"})
		if f := edit("one", "main", "lib/a.go"); f.Verdict != wire.Pass {
			t.Errorf("after the end of its holder: %+v", f)
		}
	})
}

func TestAnEditIsReservedWhereTheProjectSaysSo(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		_, err := o.Files.Set(t.Context(), domaintest.Human("u"), files.SettingsInput{Project: repository, Auto: true})
		domaintest.Check(t, err)
		edit := func(c identity.Caller) *wire.Files {
			return o.hook(c, wire.HookInput{Event: wire.Edit, Project: repository, Worktree: "main", Paths: []string{"a[1].go"}}).Files
		}
		until := func() time.Time {
			list, err := o.Files.List(t.Context(), alpha, files.ListInput{Project: repository})
			if domaintest.Check(t, err); len(list.Reservations) != 1 {
				t.Fatalf("reservations %+v", list.Reservations)
			}
			return list.Reservations[0].Until
		}
		if f := edit(alpha); f.Verdict != wire.Pass || !f.Auto || !f.Reserved {
			t.Errorf("a free file: %+v", f)
		}
		first := until()
		if f := edit(beta); f.Verdict != wire.Deny {
			t.Errorf("another's file: %+v", f)
		}
		o.Pass(10 * time.Minute)
		if f := edit(alpha); !f.Reserved || !until().Equal(first.Add(10*time.Minute)) {
			t.Errorf("the lease is not renewed: %+v", f)
		}
	})
}

func TestHolderAndEditorAreToldOnceOfAFileThatWasChanged(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		holder := o.start(beta, "one")
		o.start(alpha, "one")
		_, err := o.Files.Reserve(t.Context(), beta, reservation(holder, "lib/"))
		domaintest.Check(t, err)
		changed := wire.HookInput{Project: repository, Worktree: "main", Branch: "fix", Changed: []string{"lib/a.go", "b.go"},
			MaxBytes: 4096}
		f := o.hook(alpha, changed).Files
		if f == nil || f.Verdict != wire.Warn || len(f.Reason) != 1 || !strings.Contains(f.Reason[0], "lib/a.go was changed") {
			t.Fatalf("it is warned of %+v", f)
		}
		second := o.hook(alpha, changed)
		if second.Files != nil {
			t.Errorf("again %+v", second.Files)
		}
		told := o.hook(beta, wire.HookInput{MaxBytes: 4096})
		if len(told.Mail) != 1 || told.Mail[0].From != "parley" || !strings.Contains(told.Mail[0].Text, `lib/a.go of github.com/`) ||
			!strings.Contains(told.Mail[0].Text, `while a command of "alpha/1" ran`) ||
			!strings.Contains(told.Mail[0].Text, `(branch "fix")`) {
			t.Errorf("the holder has %+v", told.Mail)
		}
		mine := second.Mail
		mine = append(mine, o.hook(alpha, wire.HookInput{MaxBytes: 4096}).Mail...)
		if len(mine) > 1 {
			t.Errorf("the editor has %+v", mine)
		}
	})
}
