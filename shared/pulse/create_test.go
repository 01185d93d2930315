package pulse

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

func TestANewSessionHasTheFieldsOfItsCreation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		out := w.create(alpha, CreateInput{Name: "builder", SessionID: "s", Status: new("compiling"), State: Pinned,
			Progress: new(40), ProjectName: new("parley")})
		want := View{SessionID: "s", Address: "alpha/s", Name: "builder", ProgramID: "alpha", Verified: true, Status: "compiling",
			State: Pinned, Lifecycle: task.Blocked, Progress: 40, ProjectName: "parley", CreatedAt: domaintest.Start,
			UpdatedAt: domaintest.Start, LastHeartbeat: domaintest.Start, Live: true}
		if !out.Created || out.View != want {
			t.Errorf("answered %+v", out)
		}
		if v := w.get("s"); v != want {
			t.Errorf("listed %+v", v)
		}
		if beat, found := fetch(w, heartbeats, "s"); !found || !beat.At.Equal(domaintest.Start) ||
			beat.ProgramID != "alpha" {
			t.Errorf("its heartbeat is %+v, %v", beat, found)
		}
	})
}

func TestOmittedFieldsOfASessionHaveDefaults(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, second := w.create(loose, CreateInput{}), w.create(loose, CreateInput{ProgramID: "gamma"})
		if first.SessionID == "" || first.SessionID == second.SessionID || !first.Created || !second.Created {
			t.Errorf("ids %q and %q", first.SessionID, second.SessionID)
		}
		if first.State != Working || first.Lifecycle != task.Active || first.Progress != 0 || first.ProgramID != "" ||
			first.Verified {
			t.Errorf("the defaults are %+v", first)
		}
		if second.ProgramID != "gamma" || second.Verified {
			t.Errorf("an unbound key's word for its program: %+v", second)
		}
	})
}

func TestCreatingAgainUpdatesTheGivenFields(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s", Name: "one", Status: new("busy"), State: Blocked, Progress: new(40),
			ProjectName: new("p")})
		w.Pass(time.Minute)
		out := w.create(alpha, CreateInput{SessionID: "s", Name: "two", Progress: new(0)})
		want := View{SessionID: "s", Address: "alpha/s", Name: "two", ProgramID: "alpha", Verified: true, Status: "busy", State: Working,
			Lifecycle: task.Active, ProjectName: "p", CreatedAt: domaintest.Start, UpdatedAt: w.Now(),
			LastHeartbeat: w.Now(), Live: true}
		if out.Created || out.View != want {
			t.Errorf("answered %+v", out)
		}
		if v := w.get("s"); v != want {
			t.Errorf("listed %+v", v)
		}
	})
}

func TestAnEndedSessionIsRevived(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "complete", State: Complete})
		w.create(alpha, CreateInput{SessionID: "silent", Progress: new(70)})
		w.Pass(time.Hour)
		w.update(alpha, UpdateInput{SessionID: "complete"})
		w.Pass(5 * time.Minute)
		if n := w.sweep(10); n != 1 {
			t.Fatalf("swept %d", n)
		}
		for id, progress := range map[string]int{"complete": 0, "silent": 70} {
			if v := w.get(id); v.Live || v.EndedAt.IsZero() {
				t.Fatalf("%s is %+v", id, v)
			}
			w.Pass(time.Minute)
			out := w.create(alpha, CreateInput{SessionID: id})
			if out.Created || out.Lifecycle != task.Active || out.State != Working || !out.Live || out.Archived ||
				!out.EndedAt.IsZero() ||
				!out.CreatedAt.Equal(domaintest.Start) || !out.LastHeartbeat.Equal(w.Now()) ||
				out.Progress != progress {
				t.Errorf("%s revived: %+v", id, out)
			}
			if v, _ := fetch(w, sessions, id); !v.PurgeAt.IsZero() || !v.LastHeartbeat.IsZero() {
				t.Errorf("%s is kept as %+v", id, v)
			}
			if beat, found := fetch(w, heartbeats, id); !found || !beat.At.Equal(w.Now()) {
				t.Errorf("%s beats %+v, %v", id, beat, found)
			}
			w.update(alpha, UpdateInput{SessionID: id, Progress: new(1)})
		}
	})
}

func TestABoundKeyCreatesSessionsOfItsProgramOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Create(t.Context(), alpha, CreateInput{Name: "n", ProgramID: "beta"})
		domaintest.Refused(t, "as another", err, fault.Forbidden, "alpha", "beta")
		if out := w.create(alpha, CreateInput{SessionID: "named", ProgramID: "alpha"}); out.ProgramID != "alpha" ||
			!out.Verified {
			t.Errorf("as itself: %+v", out)
		}
		_, err = w.Create(t.Context(), beta, CreateInput{Name: "mine now", SessionID: "named"})
		domaintest.Refused(t, "another's session", err, fault.Forbidden, "alpha", "beta")
		if out := w.create(alpha, CreateInput{SessionID: "named", ProgramID: "ALPHA"}); out.ProgramID != "alpha" {
			t.Errorf("as itself in capitals: %+v", out)
		}
		w.create(person, CreateInput{SessionID: "said", ProgramID: "alpha"})
		_, err = w.Create(t.Context(), beta, CreateInput{Name: "mine now", SessionID: "said"})
		domaintest.Refused(t, "a session said to be another's", err, fault.Forbidden)
		if v := w.get("named"); v.Name != "a session" || v.ProgramID != "alpha" {
			t.Errorf("the session is %+v", v)
		}
	})
}

func TestAPersonGivesASessionToAProgram(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		if out := w.create(person, CreateInput{SessionID: "s", Name: "renamed"}); out.ProgramID != "alpha" ||
			!out.Verified || out.Name != "renamed" {
			t.Errorf("renamed: %+v", out)
		}
		w.update(alpha, UpdateInput{SessionID: "s", Progress: new(1)}) // it is alpha's still
		if out := w.create(person, CreateInput{SessionID: "s", ProgramID: "beta"}); out.ProgramID != "beta" ||
			out.Verified {
			t.Errorf("given away: %+v", out)
		}
		_, err := w.Update(t.Context(), alpha, UpdateInput{SessionID: "s", Progress: new(2)})
		domaintest.Refused(t, "the former owner", err, fault.Forbidden, `of "beta"`, `"alpha"`)
		if out := w.create(beta, CreateInput{SessionID: "s"}); out.Created || !out.Verified {
			t.Errorf("taken up: %+v", out)
		}
	})
}

func TestARepeatedCreationWithAKeyCreatesOneSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := CreateInput{Name: "n", Idempotency: op.Idempotency{IdempotencyKey: "k"}}
		first := w.create(alpha, in)
		w.Pass(time.Minute)
		if again := w.create(alpha, in); again != first {
			t.Errorf("first %+v, then %+v", first, again)
		}
		if got := ids(w.list(alpha, ListInput{})); got != first.SessionID {
			t.Errorf("there are %q", got)
		}
		in.Name = "another"
		_, err := w.Create(t.Context(), alpha, in)
		domaintest.Refused(t, "another input", err, fault.Precondition)
	})
}

func TestOfConcurrentCreationsOneCreatesTheSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := make(chan int, 5)
		failed := domaintest.Together(cap(made), func(int) error {
			out, err := w.Create(t.Context(), alpha, CreateInput{Name: "n", SessionID: "s"})
			if out.Created {
				made <- 1
			}
			return err
		})
		if len(failed) != 0 || len(made) != 1 || ids(w.list(alpha, ListInput{})) != "s" {
			t.Errorf("made %d times, %v", len(made), failed)
		}
	})
}

func TestSessionsOfUsersWithOneIdAreSeparate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(beta, CreateInput{SessionID: "s", Name: "ours"})
		if out := w.create(stranger, CreateInput{SessionID: "s", Name: "theirs"}); !out.Created ||
			out.ProgramID != "alpha" {
			t.Errorf("answered %+v", out)
		}
		if v := w.get("s"); v.Name != "ours" {
			t.Errorf("ours is %+v", v)
		}
	})
}
