package campfire

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

const late = "overdue: no Judge took the oath by 2026-03-01T12:30:00Z"

// overdue prepares a fire with a duel past the deadline for its oath.
func (k *fixture) overdue() {
	k.t.Helper()
	k.stage(1)
	k.Pass(30 * time.Minute)
}

// lapsed checks that the duel ended at its deadline, and the number of recorded duels.
func (k *fixture) lapsed(name string, recorded int) {
	k.t.Helper()
	e := k.ended()
	if len(e) != 1 || e[0].Number != 1 ||
		e[0].Outcome != (Outcome{Result: Abandoned, Reason: late, EndedAt: t0.Add(30 * time.Minute)}) ||
		k.recorded() != recorded {
		k.t.Errorf("%s: %+v, %d recorded", name, e, k.recorded())
	}
}

func TestAnOverdueDuelBlocksNoCall(t *testing.T) {
	for name, call := range map[string]func(*fixture) error{
		"post": func(k *fixture) error { return k.post("x") },
		"speak": func(k *fixture) error {
			in := PostInput{FireID: here, Text: "x", Idempotency: op.Idempotency{IdempotencyKey: "k"}}
			return domaintest.Err(k.Speak(k.t.Context(), bob, in))
		},
		"plan": func(k *fixture) error { return k.plan("x") },
		"light": func(k *fixture) error {
			return domaintest.Err(k.GetOrCreate(k.t.Context(), unbound, FireInput{FireID: here}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				k.overdue()
				k.check(call(k))
				k.lapsed(name, 1)
				if f := k.kept(); f.Duel != nil {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}

func TestAnOverdueDuelGivesWayToTheNext(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.overdue()
		k.check(k.throw())
		k.lapsed("gauntlet", 1)
		if v := k.get(); v.State != Pending || v.Duel.Number != 2 || v.Duels != 2 {
			t.Errorf("%+v", v)
		}
	})
}

// A late step is refused as if there were no duel, and records the end of the duel.
func TestALateStepIsRefusedAndRecordsTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		call  func(*fixture) error
		kind  fault.Kind
		words string
	}{
		"oath": {(*fixture).oath, fault.Precondition, "No pending duel on fire 'f'."},
		"strike": {(*fixture).strike, fault.Precondition,
			"Duel is not active. Waiting for the Judge to take the oath."},
		"hold":    {(*fixture).hold, fault.Precondition, "Duel is not active."},
		"verdict": {(*fixture).rule, fault.Precondition, "Duel is not active."},
		"abandon": {(*fixture).abandon, fault.Precondition, "No duel on fire 'f' to abandon."},
		"gauntlet": {func(k *fixture) error {
			return k.throwAs(bob, "bob", "bob")
		}, fault.Invalid, "Challenger and Defender must be distinct identities."},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				k.overdue()
				domaintest.Says(t, name, c.call(k), c.kind, c.words)
				k.lapsed(name, 1)
				domaintest.Says(t, name+" again", c.call(k), c.kind, c.words)
				k.lapsed(name+" again", 1)
			})
		})
	}
}

func TestAStepInTimeIsAccepted(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold, k.rule} {
			k.check(step())
			k.Pass(30*time.Minute - time.Microsecond)
			k.check(k.sweepAll())
		}
		if e := k.ended(); len(e) != 1 || e[0].Outcome.Result != Judged {
			t.Errorf("%+v", e)
		}
	})
}

// Readers see the end of an overdue duel as it will be recorded, and record nothing.
func TestReadersSeeAnOverdueDuelEnded(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.stage(1)
		k.check(k.abandon())
		k.check(k.throw())
		k.Pass(time.Hour)
		seen := k.ended()
		if v := k.get(); v.State != Debating || v.Duel != nil || v.Duels != 2 || len(seen) != 2 ||
			seen[0].Number != 2 || k.recorded() != 1 {
			t.Errorf("%+v, %+v, %d recorded", v, seen, k.recorded())
		}
		pages := func() string {
			got, cursor := "", ""
			for range 5 {
				out, err := k.Duels(t.Context(), unbound, DuelsInput{FireID: here, Cursor: cursor, Limit: 1})
				k.check(err)
				got += fmt.Sprint(len(out.Duels), ":", out.Duels[0].Number, " ")
				if cursor = out.NextCursor; cursor == "" {
					break
				}
			}
			return got
		}
		before := pages()
		k.check(k.sweepAll())
		if after := pages(); before != "1:2 1:1 " || after != before || k.recorded() != 2 {
			t.Errorf("pages %s, then %s", before, after)
		}
		if again := k.ended(); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", seen) {
			t.Errorf("recorded %+v, seen %+v", again, seen)
		}
	})
}

func TestASweepAbandonsOverdueDuelsOnly(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		admin := store.NewAdmin(k.DB)
		for i := range 5 {
			f := Fire{ID: fmt.Sprint("fire-", i), CreatedAt: t0}
			k.check(f.Throw(voice("alice"), "bob", "x", 10*(i+1), t0))
			k.put(fmt.Sprint("user-", i%2), f)
		}
		k.put("user-0", Fire{ID: "quiet", CreatedAt: t0})
		k.Pass(30 * time.Minute)
		for i, want := range []int{2, 1, 0} {
			if n, err := k.SweepDuels(t.Context(), admin, 2); err != nil || n != want {
				t.Errorf("sweep %d: %d, %v", i, n, err)
			}
		}
		for i := range 5 {
			f, err := fires.Get(t.Context(), k.DB.User(fmt.Sprint("user-", i%2)), fmt.Sprint("fire-", i))
			page, err2 := duels.Under(f.ID).
				Query(t.Context(), k.DB.User(fmt.Sprint("user-", i%2)), store.Query{Limit: 10})
			if err != nil || err2 != nil || (f.Duel == nil) != (i < 3) || len(page.Docs) != min(1, max(0, 3-i)) {
				t.Errorf("%d: %+v, %d recorded, %v, %v", i, f, len(page.Docs), err, err2)
			}
		}
	})
}

// A duel that a sweep has listed may have ended, or another one may stand, when the sweep handles it.
func TestASweepReadsADuelAgainBeforeItEndsIt(t *testing.T) {
	eachWatched(t, func(t *testing.T, k *fixture, d *watched) {
		k.overdue()
		d.then = func() { k.check(k.throw()) }
		if n, err := k.SweepDuels(t.Context(), store.NewAdmin(k.DB), 10); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		k.lapsed("the next stands", 1)
		if v := k.get(); v.State != Pending || v.Duel.Number != 2 {
			t.Errorf("%+v", v)
		}
	})
}

func TestASweepAndTheNextCallRecordAnEndOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.overdue()
		failed := domaintest.Together(crowd, func(i int) error {
			return domaintest.Retry(t.Context(), []func() error{k.sweepAll, func() error { return k.post("x") }}[i%2])
		})
		if f := k.kept(); len(failed) != 0 || f.Messages != crowd/2 || f.Duel != nil {
			t.Errorf("%v, %+v", failed, f)
		}
		k.lapsed("both", 1)
	})
}
