package app

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/store"
)

// Sweep is work that time makes, not a call. It may be ended and run again at any
// point: what it has not settled it finds again.
type Sweep struct {
	// Name is what logs and schedules call it, Every how often it is to run.
	Name  string
	Every time.Duration
	steps []step
}

// step settles at most limit documents and says how many: fewer mean that none is left.
type step func(ctx context.Context, a *store.Admin, limit int) (int, error)

// batch is how many documents a step settles, so that memory stays bounded.
const batch = 200

// Sweeps are all there is to sweep.
func (a *App) Sweeps() []Sweep {
	return []Sweep{
		{"sessions", 5 * time.Minute, []step{a.Pulse.SweepSessions}},
		{"tasks", 5 * time.Minute, []step{a.Dispatch.SweepLeases, a.Dispatch.SweepExpired, a.Dispatch.SweepEnded}},
		{"relay", 15 * time.Minute, []step{a.Relay.SweepRelay}},
		{"ledger", 24 * time.Hour, []step{a.Ledger.SweepLedger}},
	}
}

// Run sweeps until nothing is left or ctx ends, and says how many documents it
// settled. What fails does not keep the other steps from running.
func (s Sweep) Run(ctx context.Context, a *store.Admin) (int, error) {
	total := 0
	var failed []error
	for _, step := range s.steps {
		for {
			n, err := step(ctx, a, batch)
			total += n
			if err != nil {
				failed = append(failed, err)
			}
			if err != nil || n < batch {
				break
			}
		}
	}
	return total, errors.Join(failed...)
}
