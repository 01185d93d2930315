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

func TestOfEightAtOnceOneWins(t *testing.T) {
	for name, c := range map[string]struct {
		stage int
		call  func(k *camp, i int) error
		words string // what the others are told
		after func(t *testing.T, k *camp)
	}{
		"gauntlets": {0, func(k *camp, i int) error {
			return domaintest.Err(k.Throw(k.t.Context(), loose, GauntletInput{FireID: here, Challenger: fmt.Sprint("c", i), Target: "bob", Thesis: "x"}))
		}, "A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another.", func(t *testing.T, k *camp) {
			if f := k.kept(); f.Duels != 1 || f.Duel == nil || f.Duel.Number != 1 {
				t.Errorf("%+v", f)
			}
		}},
		"oaths": {1, func(k *camp, i int) error {
			return domaintest.Err(k.TakeOath(k.t.Context(), loose, OathInput{FireID: here, Character: fmt.Sprint("j", i)}))
		}, "The tribunal is already complete. The duel is active.", func(t *testing.T, k *camp) {
			if f := k.kept(); f.State() != Active {
				t.Errorf("%+v", f)
			}
		}},
		"strikes": {2, func(k *camp, _ int) error { return k.strike() },
			"Not your turn. Expected Defender (bob). Your role does not match the current turn.", func(t *testing.T, k *camp) {
				if d := k.kept().Duel; len(d.Transcript) != 1 || d.CurrentTurn != Defender {
					t.Errorf("%+v", d)
				}
			}},
		"holds": {3, func(k *camp, _ int) error { return k.hold() },
			"Not your turn. Expected Judge (judy). Your role does not match the current turn.", func(t *testing.T, k *camp) {
				if d := k.kept().Duel; len(d.Transcript) != 2 || d.CurrentTurn != Judge {
					t.Errorf("%+v", d)
				}
			}},
		"verdicts": {4, func(k *camp, _ int) error { return k.rule() }, "Duel is not active.", func(t *testing.T, k *camp) {
			if v := k.get(); v.State != Debating || v.Plan.Version != 1 || k.recorded() != 1 {
				t.Errorf("%+v, %d recorded", v, k.recorded())
			}
		}},
		"abandons": {1, func(k *camp, _ int) error { return k.abandon() }, "No duel on fire 'f' to abandon.", func(t *testing.T, k *camp) {
			if v := k.get(); v.State != Debating || k.recorded() != 1 {
				t.Errorf("%+v, %d recorded", v, k.recorded())
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *camp) {
				if c.stage > 0 { // a gauntlet makes its fire, all eight of them at once
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

// A verdict and an abandonment of the same duel: one of them is its end.
func TestADuelEndsOnce(t *testing.T) {
	each(t, func(t *testing.T, k *camp) {
		k.stage(4)
		k.Pass(29 * time.Minute)
		failed := domaintest.Together(crowd, func(i int) error {
			return domaintest.Retry(t.Context(), []func() error{k.rule, k.abandon, k.sweepAll, k.rule}[i%4])
		})
		// Both sweeps succeed with nothing to do.
		if len(failed) != crowd-3 || k.recorded() != 1 {
			t.Errorf("%d failed, %d recorded: %v", len(failed), k.recorded(), failed)
		}
		e, f := k.ended(), k.kept()
		if (e[0].Outcome.Result == Judged) != (f.Plan == 1) || f.Duel != nil {
			t.Errorf("%+v, %+v", e, f)
		}
	})
}

func TestAFireIsMadeOnceByMany(t *testing.T) {
	each(t, func(t *testing.T, k *camp) {
		failed := domaintest.Together(crowd, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				if i%2 == 0 {
					return domaintest.Err(k.GetOrCreate(t.Context(), loose, FireInput{FireID: here}))
				}
				err := domaintest.Err(k.Throw(t.Context(), loose, GauntletInput{FireID: here, Challenger: fmt.Sprint("c", i), Target: "bob", Thesis: "x"}))
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

func (k *camp) sweepAll() error {
	return domaintest.Err(k.SweepDuels(k.t.Context(), store.NewAdmin(k.DB), 100))
}

// put sets a fire of a user as it is given.
func (k *camp) put(user string, f Fire) {
	k.t.Helper()
	k.check(k.DB.User(user).Update(k.t.Context(), func(_ context.Context, tx *store.Tx) error {
		fires.Put(tx, f.ID, f)
		return nil
	}))
}
