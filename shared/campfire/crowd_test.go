package campfire

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const crowd = 8

func TestOfEightConcurrentCallsOneSucceeds(t *testing.T) {
	for name, c := range map[string]struct {
		stage int
		call  func(k *fixture, i int) error
		words string // the message to the other callers
		after func(t *testing.T, k *fixture)
	}{
		"gauntlets": {
			0,
			func(k *fixture, i int) error { return k.throwAs(unbound, fmt.Sprint("c", i), "bob") },
			"A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another.",
			func(t *testing.T, k *fixture) {
				if f := k.kept(); f.Duels != 1 || f.Duel == nil || f.Duel.Number != 1 {
					t.Errorf("%+v", f)
				}
			},
		},
		"oaths": {
			1,
			func(k *fixture, i int) error {
				in := OathInput{FireID: here, Character: fmt.Sprint("j", i)}
				return domaintest.Err(k.TakeOath(k.t.Context(), unbound, in))
			},
			"The tribunal is already complete. The duel is active.",
			func(t *testing.T, k *fixture) {
				if f := k.kept(); f.State() != Active {
					t.Errorf("%+v", f)
				}
			},
		},
		"strikes": {
			2,
			func(k *fixture, _ int) error { return k.strike() },
			"Not your turn. Expected Defender (bob). Your role does not match the current turn.",
			func(t *testing.T, k *fixture) {
				if d := k.kept().Duel; len(d.Transcript) != 1 || d.CurrentTurn != Defender {
					t.Errorf("%+v", d)
				}
			},
		},
		"holds": {
			3,
			func(k *fixture, _ int) error { return k.hold() },
			"Not your turn. Expected Judge (judy). Your role does not match the current turn.",
			func(t *testing.T, k *fixture) {
				if d := k.kept().Duel; len(d.Transcript) != 2 || d.CurrentTurn != Judge {
					t.Errorf("%+v", d)
				}
			},
		},
		"verdicts": {
			4,
			func(k *fixture, _ int) error { return k.rule() },
			"Duel is not active.",
			func(t *testing.T, k *fixture) {
				if v := k.get(); v.State != Debating || v.Plan.Version != 1 || k.recorded() != 1 {
					t.Errorf("%+v, %d recorded", v, k.recorded())
				}
			},
		},
		"abandons": {
			1,
			func(k *fixture, _ int) error { return k.abandon() },
			"No duel on fire 'f' to abandon.",
			func(t *testing.T, k *fixture) {
				if v := k.get(); v.State != Debating || k.recorded() != 1 {
					t.Errorf("%+v, %d recorded", v, k.recorded())
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				if c.stage > 0 { // The gauntlets create their fire, concurrently.
					k.stage(c.stage)
				}
				failed := domaintest.Together(crowd, func(i int) error {
					return domaintest.Retry(t.Context(), func() error { return c.call(k, i) })
				})
				if len(failed) != crowd-1 {
					t.Errorf("%d won", crowd-len(failed))
				}
				for _, err := range failed {
					domaintest.Says(t, name, err, fault.Precondition, c.words)
				}
				c.after(t, k)
			})
		})
	}
}

// Of concurrent verdicts, abandonments and sweeps of the same duel, one ends it.
func TestADuelEndsOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.stage(4)
		k.Pass(29 * time.Minute)
		failed := domaintest.Together(crowd, func(i int) error {
			return domaintest.Retry(t.Context(), []func() error{k.rule, k.abandon, k.sweepAll, k.rule}[i%4])
		})
		// Both sweeps succeed without work.
		if len(failed) != crowd-3 || k.recorded() != 1 {
			t.Errorf("%d failed, %d recorded: %v", len(failed), k.recorded(), failed)
		}
		e, f := k.ended(), k.kept()
		if (e[0].Outcome.Result == Judged) != (f.Plan == 1) || f.Duel != nil {
			t.Errorf("%+v, %+v", e, f)
		}
	})
}

func TestConcurrentCallsCreateAFireOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		failed := domaintest.Together(crowd, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				if i%2 == 0 {
					return domaintest.Err(k.GetOrCreate(t.Context(), unbound, FireInput{FireID: here}))
				}
				err := k.throwAs(unbound, fmt.Sprint("c", i), "bob")
				if fault.Is(err, fault.Precondition) {
					return nil
				}
				return err
			})
		})
		if f := k.kept(); len(failed) != 0 || f.Duels != 1 || f.Duel == nil {
			t.Errorf("%v, %+v", failed, f)
		}
	})
}

func (k *fixture) sweepAll() error {
	return domaintest.Err(k.SweepDuels(k.t.Context(), store.NewAdmin(k.DB), 100))
}

// put stores a fire of a user.
func (k *fixture) put(user string, f Fire) {
	k.t.Helper()
	k.check(k.DB.User(user).Update(k.t.Context(), func(_ context.Context, tx *store.Tx) error {
		fires.Put(tx, f.ID, f)
		return nil
	}))
}
