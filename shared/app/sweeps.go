package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/shared/store"
)

// Sweep is work that time makes, not a call. It may be ended and run again at any
// point: what it has not handled it finds again.
type Sweep struct {
	// Name is what logs call it, Function what its deployment does.
	Name, Function string
	// Every is how often it is to run.
	Every time.Duration
	steps []step
}

// step handles at most limit documents and returns how many: fewer mean that none is left.
type step struct {
	name string
	run  func(ctx context.Context, a *store.Admin, limit int) (int, error)
}

// batch is the number of documents that a step handles at once, so that memory stays bounded.
const batch = 200

// Sweeps are all there is to sweep.
func (a *App) Sweeps() []Sweep {
	return []Sweep{
		{"sessions", "CleanupExpiredSessions", 5 * time.Minute, []step{{"sessions", a.Pulse.SweepSessions}, {"duels", a.Campfire.SweepDuels}, {"councils", a.Council.SweepCouncils},
			{"verifications", a.Elenchus.SweepVerifications}, {"teammates", a.Team.SweepMembers}, {"teams", a.Team.SweepTeams}}},
		{"tasks", "CleanupOrphanedTasks", 5 * time.Minute, []step{{"leases", a.Dispatch.SweepLeases}, {"expired", a.Dispatch.SweepExpired}, {"ended", a.Dispatch.SweepEnded}}},
		{"relay", "CleanupExpiredRelay", 15 * time.Minute, []step{{"messages", a.Relay.SweepRelay}}},
		{"ledger", "CleanupLedger", 24 * time.Hour, []step{{"records", a.Ledger.SweepLedger}}},
	}
}

// Report is what a sweep did.
type Report struct {
	Sweep string `json:"sweep"`
	// Handled counts documents by the step that handled them.
	Handled map[string]int `json:"settled"`
	// More says that its time was over before all was handled; the next run goes on.
	More bool `json:"more"`
}

// Total returns the number of documents that were handled.
func (r Report) Total() (n int) {
	for _, handled := range r.Handled {
		n += handled
	}
	return n
}

// Run sweeps until nothing is left or ctx ends, which is no error. What fails does
// not keep the other steps from running.
func (s Sweep) Run(ctx context.Context, a *store.Admin) (Report, error) {
	report := Report{Sweep: s.Name, Handled: map[string]int{}}
	var failed []error
	for _, step := range s.steps {
		report.Handled[step.name] = 0
		for {
			if ctx.Err() != nil {
				report.More = true
				break
			}
			n, err := step.run(ctx, a, batch)
			report.Handled[step.name] += n
			if err != nil && ctx.Err() == nil {
				failed = append(failed, fmt.Errorf("%s: %w", step.name, err))
			}
			if ctx.Err() == nil && (err != nil || n < batch) {
				break
			}
		}
	}
	return report, errors.Join(failed...)
}
