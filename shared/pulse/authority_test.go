package pulse

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestASessionIsContinuedByItsOwnerAndByPeople(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		none := identity.Owner{}
		callers := map[string]identity.Caller{"alpha": alpha, "ALPHA": domaintest.Bound("u", "ALPHA"), "beta": beta,
			"loose": loose, "drift": drift, "person": person}
		reserved := loose
		reserved.Reserved = []string{"alpha", "beta"}
		callers["loose, beside keys of alpha and beta"] = reserved
		for name, c := range map[string]struct {
			v   Session
			may string // separated by "; "
		}{
			"of a program":              {Session{ProgramID: "alpha", Verified: true, Maker: alpha.Owner()}, "alpha; ALPHA"},
			"of an unbound key":         {Session{Maker: loose.Owner()}, "loose; loose, beside keys of alpha and beta"},
			"of one that said a name":   {Session{ProgramID: "gamma", Maker: drift.Owner()}, "drift"},
			"of a person":               {Session{Maker: person.Owner()}, ""},
			"of a person for a program": {Session{ProgramID: "Alpha", Maker: person.Owner()}, "alpha; ALPHA"},
			"old, of a program":         {Session{ProgramID: "alpha", Verified: true, Maker: none}, "alpha; ALPHA"},
			"old, said to be a program's": {Session{ProgramID: "alpha", Maker: none},
				"alpha; ALPHA; loose; drift"},
			"old, of nobody": {Session{Maker: none},
				"alpha; ALPHA; beta; loose; drift; loose, beside keys of alpha and beta"},
		} {
			may := map[string]bool{"person": true}
			for _, n := range strings.Split(c.may, "; ") {
				may[n] = true
			}
			for caller, who := range callers {
				for op, call := range map[string]func() error{
					"beat": func() error {
						_, err := w.Update(t.Context(), who, UpdateInput{SessionID: "s", LastHeartbeat: true})
						return err
					},
					"end": func() error {
						_, err := w.Update(t.Context(), who, UpdateInput{SessionID: "s", State: Complete})
						return err
					},
					"create": func() error {
						_, err := w.Create(t.Context(), who, CreateInput{SessionID: "s", Name: "taken over"})
						return err
					},
				} {
					v := c.v
					v.Name, v.State, v.Lifecycle, v.Life, v.CreatedAt = "a session", Working, task.Active, 1, domaintest.Start
					w.write(func(tx *store.Tx) {
						sessions.Put(tx, "s", v)
						heartbeats.Put(tx, "s", Heartbeat{At: domaintest.Start, ProgramID: v.ProgramID})
					})
					w.Pass(time.Second)
					err := call()
					after, _ := fetch(w, sessions, "s")
					beat, _ := fetch(w, heartbeats, "s")
					if may[caller] {
						if err != nil || !beat.At.Equal(w.Now()) {
							t.Errorf("a session %s, %s by %s: %v", name, op, caller, err)
						}
						if owner := after.Maker; c.v.Maker == none && (owner != none) != (caller != "person") {
							t.Errorf("a session %s, %s by %s: its owner is %+v", name, op, caller, owner)
						}
						continue
					}
					domaintest.Refused(t, "a session "+name+", "+op+" by "+caller, err, fault.Forbidden)
					if after != v || beat.At != domaintest.Start {
						t.Errorf("a session %s, %s by %s left %+v", name, op, caller, after)
					}
				}
			}
		}
	})
}

func TestAnUnboundKeyDoesNotSpeakUnderTheNameOfABoundOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := loose
		c.Reserved = []string{"alpha"}
		for _, name := range []string{"alpha", "Alpha", "ALPHA"} {
			_, err := w.Create(t.Context(), c, CreateInput{Name: "n", ProgramID: name})
			domaintest.Refused(t, name, err, fault.Forbidden, `"alpha" has a key of its own`)
		}
		if out := w.create(c, CreateInput{ProgramID: "alphabet"}); out.ProgramID != "alphabet" || out.Verified {
			t.Errorf("%+v", out)
		}
	})
}

func TestSessionsOfAProgramAreFoundWhateverTheCaseOfItsName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		shout := domaintest.Bound("u", "Beta")
		w.create(shout, CreateInput{SessionID: "t"})
		asker := loose
		asker.Reserved = []string{"alpha", "Beta"}
		for name, want := range map[string]string{"alpha": "s", "ALPHA": "s", "Beta": "t", "beta": "t", "BETA": "t"} {
			if got := ids(w.list(asker, ListInput{ProgramID: name})); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		w.create(person, CreateInput{ProgramID: "ALPHA"})
		if got, err := w.Programs(t.Context(), "u"); err != nil || len(got) != 2 {
			t.Errorf("programs are %q, %v", got, err)
		}
	})
}

// A claim may name any session: that of another caller neither releases it nor tells anybody.
func TestTheEndOfASessionLeavesTheClaimsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(beta, CreateInput{SessionID: "alpha.1"}) // alpha has not registered it
		w.create(drift, CreateInput{SessionID: "alpha.2"})
		w.create(alpha, CreateInput{SessionID: "alpha.3"})
		w.create(person, CreateInput{SessionID: "alpha.4", ProgramID: "alpha"})
		for _, id := range []string{"1", "2", "3", "4"} {
			w.holds("alpha."+id, "t"+id, "gamma")
		}
		w.Pass(2 * time.Hour)
		if n := w.sweep(10); n != 4 {
			t.Errorf("swept %d", n)
		}
		if w.free("t1") || w.free("t2") || !w.free("t3") || !w.free("t4") || w.mail.told() != "gamma gamma" {
			t.Errorf("free are %v, %v, %v, %v; told %q", w.free("t1"), w.free("t2"), w.free("t3"), w.free("t4"),
				w.mail.told())
		}
	})
}
