package pulse

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestASweepEndsASilentSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s", Name: "builder", State: Pinned, Progress: new(40)})
		w.holds("s", "t1", "beta")
		w.holds("s", "t2", "")
		w.holds("another", "t3", "gamma")
		w.Pass(65*time.Minute - time.Microsecond)
		if n := w.sweep(10); n != 0 || w.get("s").Archived {
			t.Fatalf("swept %d before the time", n)
		}
		w.Pass(time.Microsecond)
		if n := w.sweep(10); n != 1 {
			t.Fatalf("swept %d", n)
		}
		v, _ := fetch(w, sessions, "s")
		want := Session{Name: "builder", ProgramID: "alpha", Verified: true, Maker: alpha.Owner(), KeyID: alpha.KeyID,
			State: Pinned, Lifecycle: task.Derezzed, Progress: 40, Life: 1, Archived: true,
			CreatedAt: domaintest.Start, UpdatedAt: w.Now(), EndedAt: w.Now(), LastHeartbeat: domaintest.Start,
			PurgeAt: w.Now().Add(30 * 24 * time.Hour)}
		if v != want {
			t.Errorf("the session is %+v", v)
		}
		if r := w.records("s"); len(r) != 1 || r[0] != (Record{Session: want, SessionID: "s"}) {
			t.Errorf("archived %+v", r)
		}
		if _, found := fetch(w, heartbeats, "s"); found {
			t.Error("its heartbeat is left")
		}
		if !w.free("t1") || !w.free("t2") || w.free("t3") {
			t.Errorf("free are %v, %v, %v", w.free("t1"), w.free("t2"), w.free("t3"))
		}
		if got := w.mail.told(); got != "beta" {
			t.Errorf("told %q", got)
		}
		if n := w.sweep(10); n != 0 || len(w.records("s")) != 1 || w.mail.told() != "beta" {
			t.Errorf("swept %d again, told %q", n, w.mail.told())
		}
	})
}

func TestANoticeNamesTheSessionAndTheTask(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s", Name: "builder"})
		w.holds("s", "t1", "beta")
		w.Pass(2 * time.Hour)
		w.sweep(10)
		want := `The session "builder" (s), which holds your task "title of t1" (t1), was last heard of at ` +
			`2026-03-01T12:00:00Z and has been ended. Unless it comes back at once, the task is released for ` +
			`another claim.`
		if got := w.mail.got["u beta "+noticeID("s", 1, "t1")]; got != want {
			t.Errorf("told %q", w.mail.got)
		}
	})
}

func TestTheStaleTimeCanBeSet(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.StaleAfter = time.Minute
		w.create(alpha, CreateInput{SessionID: "s"})
		w.Pass(time.Minute)
		if v := w.get("s"); v.Live {
			t.Errorf("listed %+v", v)
		}
		if n := w.sweep(10); n != 1 {
			t.Errorf("swept %d", n)
		}
	})
}

func TestACompleteSessionIsArchivedToo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s", State: Complete})
		w.Pass(65 * time.Minute)
		w.sweep(10)
		v := w.get("s")
		if !v.Archived || v.Lifecycle != task.Derezzed || v.State != Complete || !v.EndedAt.Equal(domaintest.Start) {
			t.Errorf("the session is %+v", v)
		}
		if len(w.records("s")) != 1 {
			t.Errorf("archived %d times", len(w.records("s")))
		}
	})
}

// A fault would mean that nothing was done, but a repeat would find the session ended.
func TestASessionWhoseMailCannotBeForwardedHasEndedAndTheSweepForwardsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.create(alpha, CreateInput{}).SessionID
		w.mail.fails = func() error { return fault.New(fault.Unavailable, "no store") }
		if v := w.update(alpha, UpdateInput{SessionID: id, State: Complete}); v.Live || len(w.mail.forwarded) > 0 {
			t.Errorf("the session is %+v, and forwarded is %v", v, w.mail.forwarded)
		}
		w.mail.fails = nil
		w.Pass(65 * time.Minute)
		w.sweep(10)
		if got := fmt.Sprint(w.mail.forwarded); got != "[u "+id+"]" {
			t.Errorf("forwarded %s", got)
		}
	})
}

func TestEveryLifeOfASessionHasARecordAndNotices(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for life := 1; life <= 3; life++ {
			w.create(alpha, CreateInput{SessionID: "s", Name: fmt.Sprint("life ", life)})
			w.holds("s", "t1", "beta")
			w.Pass(65 * time.Minute)
			w.sweep(10)
			r := w.records("s")
			if len(r) != life || r[life-1].Name != fmt.Sprint("life ", life) || !r[life-1].EndedAt.Equal(w.Now()) {
				t.Fatalf("archived %+v", r)
			}
			if len(w.mail.got) != life || !w.free("t1") {
				t.Fatalf("told %q", w.mail.got)
			}
		}
	})
}

func TestASweepIsBoundedAndContinues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 5 {
			w.create(alpha, CreateInput{SessionID: fmt.Sprint("s", i)})
		}
		w.create(stranger, CreateInput{SessionID: "s0"})
		w.Pass(2 * time.Hour)
		w.create(alpha, CreateInput{SessionID: "fresh"})
		for i, want := range []int{4, 2, 0} {
			if n := w.sweep(4); n != want {
				t.Errorf("run %d handled %d, want %d", i, n, want)
			}
		}
		if got := ids(w.list(alpha, ListInput{})); got != "fresh" {
			t.Errorf("left are %q", got)
		}
		if got := ids(w.list(stranger, ListInput{})); got != "" {
			t.Errorf("the other user has %q", got)
		}
	})
}

func TestAllMessagesAreSentBeforeTheFirstRelease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.write(func(tx *store.Tx) {
			for i := range heldPage + 1 {
				id := fmt.Sprintf("t%03d", i)
				task.Tasks.Put(tx, id, task.Task{Status: task.Active, Source: "beta", SessionID: "s", ClaimedBy: "alpha",
					Routes: []string{}})
				task.Leases.Put(tx, id, task.Lease{SessionID: "s", ClaimedBy: "alpha", LeaseUntil: w.Now()})
			}
		})
		w.Pass(2 * time.Hour)
		w.queue.fails = failAt(1)
		_, err := w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10)
		if !errors.Is(err, errKilled) || len(w.mail.got) != heldPage+1 {
			t.Errorf("told %d before the first is released, %v", len(w.mail.got), err)
		}
	})
}

func TestAClaimAfterTheListingIsReleasedWithAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.holds("s", "t1", "beta")
		w.Pass(2 * time.Hour)
		w.mail.fails = func() error {
			w.mail.fails = nil
			w.holds("s", "t2", "gamma")
			return nil
		}
		w.sweep(10)
		w.swept(w.Now())
	})
}

func TestASweepDeletesAHeartbeatWithoutASession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) { heartbeats.Put(tx, "gone", Heartbeat{At: w.Now()}) })
		w.Pass(2 * time.Hour)
		for i, want := range []int{1, 0} {
			if n := w.sweep(10); n != want {
				t.Errorf("run %d handled %d", i, n)
			}
		}
	})
}

var errKilled = errors.New("killed")

// failAt returns a function that fails at its n-th call only.
func failAt(n int) func() error {
	return func() error {
		if n--; n == 0 {
			return errKilled
		}
		return nil
	}
}

func TestAnInterruptedSweepIsContinued(t *testing.T) {
	for name, kill := range map[string]func(*world){
		"before anyone is told":      func(w *world) { w.mail.fails = failAt(1) },
		"when one was told":          func(w *world) { w.mail.fails = failAt(2) },
		"before the second is told":  func(w *world) { w.mail.fails = failAt(3) },
		"before a claim is released": func(w *world) { w.queue.fails = failAt(1) },
		"when one is released":       func(w *world) { w.queue.fails = failAt(2) },
		"when all are released":      func(w *world) { w.queue.fails = failAt(3) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.create(alpha, CreateInput{SessionID: "s"})
				w.create(alpha, CreateInput{SessionID: "other"})
				w.holds("s", "t1", "beta")
				w.holds("s", "t2", "gamma")
				w.Pass(2 * time.Hour)
				ended := w.Now()
				kill(w)
				n, err := w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10)
				if n != 1 || !errors.Is(err, errKilled) {
					t.Fatalf("handled %d, %v", n, err)
				}
				w.Pass(5 * time.Minute)
				if n := w.sweep(10); n != 1 {
					t.Errorf("then handled %d", n)
				}
				w.swept(ended)
			})
		})
	}
}

// swept checks that the session s has ended and its claims of beta and gamma are released.
func (w *world) swept(ended time.Time) {
	w.t.Helper()
	if v := w.get("s"); !v.Archived || !v.EndedAt.Equal(ended) {
		w.t.Errorf("the session is %+v", v)
	}
	if r := w.records("s"); len(r) != 1 || !r[0].EndedAt.Equal(ended) {
		w.t.Errorf("archived %+v", r)
	}
	if !w.free("t1") || !w.free("t2") || w.mail.told() != "beta gamma" {
		w.t.Errorf("free are %v, %v; told %q", w.free("t1"), w.free("t2"), w.mail.told())
	}
	if _, found := fetch(w, heartbeats, "s"); found {
		w.t.Error("its heartbeat is left")
	}
}

// The test interrupts a sweep before and after every step; the next one has the same result.
func TestASweepMayBeInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w, d := spied(t)
		w.create(alpha, CreateInput{SessionID: "s"})
		w.holds("s", "t1", "beta")
		w.holds("s", "t2", "gamma")
		w.Pass(2 * time.Hour)
		dead, steps := false, failAt(n)
		kill := func() error {
			dead = dead || steps() != nil
			if dead {
				return errKilled
			}
			return nil
		}
		d.fails, w.queue.fails, w.mail.fails = kill, kill, kill
		_, err := w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10)
		d.fails, w.queue.fails, w.mail.fails = nil, nil, nil
		if !dead {
			if err != nil || n < 15 {
				t.Errorf("a sweep of %d steps ended with %v", n, err)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("killed at %d, it answered %v", n, err)
		}
		w.sweep(10)
		w.swept(w.Now())
		if t.Failed() {
			t.Fatalf("killed at step %d", n)
		}
	}
}

func TestAHeartbeatDuringASweepKeepsItsSession(t *testing.T) {
	t.Parallel()
	w, d := spied(t)
	for _, id := range []string{"beats", "resumed", "silent"} {
		w.create(alpha, CreateInput{SessionID: id})
		w.holds(id, "task-of-"+id, "beta")
	}
	w.Pass(2 * time.Hour)
	d.then = func() {
		w.update(alpha, UpdateInput{SessionID: "beats", LastHeartbeat: true})
		w.create(alpha, CreateInput{SessionID: "resumed"})
	}
	if n := w.sweep(10); n != 3 {
		t.Errorf("the sweep saw %d", n)
	}
	for _, id := range []string{"beats", "resumed"} {
		if v := w.get(id); !v.Live || w.free("task-of-"+id) || len(w.records(id)) != 0 {
			t.Errorf("%s is %+v", id, v)
		}
	}
	if v := w.get("silent"); !v.Archived || !w.free("task-of-silent") || len(w.mail.got) != 1 {
		t.Errorf("what was silent is %+v", v)
	}
}

func TestASessionRevivedDuringASweepKeepsItsHeartbeat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.holds("s", "t1", "beta")
		w.Pass(2 * time.Hour)
		w.mail.fails = func() error { // the session has ended, and its claims are not released yet
			w.mail.fails = nil
			w.create(alpha, CreateInput{SessionID: "s"})
			return nil
		}
		w.sweep(10)
		beat, found := fetch(w, heartbeats, "s")
		if v := w.get("s"); !v.Live || !found || !beat.At.Equal(w.Now()) {
			t.Errorf("it is %+v, its heartbeat %+v, %v", v, beat, found)
		}
		w.Pass(65 * time.Minute)
		if n := w.sweep(10); n != 1 || len(w.records("s")) != 2 {
			t.Errorf("swept %d, archived %+v", n, w.records("s"))
		}
	})
}

// A session that is revived after an interrupted sweep keeps the claims that are not released.
func TestASessionRevivedBetweenSweepsKeepsItsClaims(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.holds("s", "t1", "beta")
		w.Pass(2 * time.Hour)
		w.mail.fails = failAt(1)
		if _, err := w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if v := w.get("s"); !v.Archived || !v.LastHeartbeat.Equal(domaintest.Start) {
			t.Errorf("between the sweeps it is %+v", v)
		}
		w.create(alpha, CreateInput{SessionID: "s"})
		if n := w.sweep(10); n != 0 || w.free("t1") || w.mail.told() != "" || !w.get("s").Live {
			t.Errorf("swept %d, told %q", n, w.mail.told())
		}
	})
}

func TestConcurrentSweepsActAsOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.holds("s", "t1", "beta")
		w.holds("s", "t2", "gamma")
		w.Pass(2 * time.Hour)
		failed := make(chan error)
		const n = 3
		for range n {
			go func() {
				_, err := w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10)
				failed <- err
			}()
		}
		for range n {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		w.swept(w.Now())
	})
}
