package pauses

import (
	"context"
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

var person = domaintest.Human("u")

// world is a service on an empty store that counts the changes which it reports.
type world struct {
	*Service
	domaintest.Clock
	t       *testing.T
	changes int
}

func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	domaintest.Each(t, store.NewSchema(new(Service).Defs()...), func(t *testing.T, db *store.DB) {
		w := &world{t: t}
		w.Service = &Service{DB: db, Now: w.Clock.Now, Changed: func(string) { w.changes++ }}
		test(t, w)
	})
}

func (w *world) pause(scope identity.PauseScope, name, words string) {
	w.t.Helper()
	domaintest.Must(w.Pause(w.t.Context(), person, Input{Scope: scope, Name: name, Words: words}))(w.t)
}

// inForce returns the pauses of the user as text.
func (w *world) inForce() string {
	w.t.Helper()
	return fmt.Sprint(domaintest.Must(w.InForce(w.t.Context(), "u"))(w.t))
}

func TestAPauseIsInForceUntilItIsResumed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.pause(identity.PausedProgram, "Beta", "wait")
		w.pause(identity.Everything, "", "")
		if got := w.inForce(); got != `[everything the program "Beta"]` {
			t.Errorf("in force is %s", got)
		}
		out := domaintest.Must(w.Resume(t.Context(), person, ResumeInput{Scope: identity.PausedProgram, Name: "beta"}))(t)
		if out.Resumed.Words != "wait" || len(out.Remaining) != 1 || w.inForce() != "[everything]" {
			t.Errorf("resumed %+v, in force is %s", out, w.inForce())
		}
		if w.changes != 3 {
			t.Errorf("%d changes were reported, want 3", w.changes)
		}
	})
}

func TestAPauseOfTheSameReplacesTheWords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.pause(identity.PausedTeam, "crew", "one")
		w.pause(identity.PausedTeam, "CREW", "two")
		out := domaintest.Must(w.List(t.Context(), person, ListInput{}))(t)
		if len(out.Pauses) != 1 || out.Pauses[0].Words != "two" {
			t.Errorf("listed %+v", out)
		}
	})
}

func TestWhatIsNotPausedIsNotResumed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Resume(t.Context(), person, ResumeInput{Scope: identity.Everything})
		domaintest.Refused(t, "where nothing is paused", err, fault.NotFound, "nothing is paused")
		w.pause(identity.PausedAgent, "claude/2", "")
		_, err = w.Resume(t.Context(), person, ResumeInput{Scope: identity.PausedProgram, Name: "claude"})
		domaintest.Refused(t, "another scope", err, fault.NotFound, `the agent "claude/2"`)
		if w.changes != 1 {
			t.Errorf("%d changes were reported, want 1", w.changes)
		}
	})
}

func TestPausesAreBoundedInNumber(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		domaintest.Check(t, w.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for i := range maxPauses {
				name := fmt.Sprintf("p%d", i)
				inForce.Put(tx, docID(identity.PausedProgram, name), Doc{Scope: identity.PausedProgram, Name: name})
			}
			return nil
		}))
		_, err := w.Pause(t.Context(), person, Input{Scope: identity.Everything})
		domaintest.Refused(t, "one more", err, fault.Precondition, "100 pauses")
		w.pause(identity.PausedProgram, "P7", "again")
	})
}
