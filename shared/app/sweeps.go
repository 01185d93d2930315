package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/store"
)

// Sweep is scheduled work, such as the expiry of documents. It may be interrupted and run again at any point: the next
// run finds the documents that are left.
type Sweep struct {
	// Name is the name in logs, Function that of the deployed function.
	Name, Function string
	// Every is the time between two runs.
	Every time.Duration
	steps []domain.Sweep
}

// batch is the number of documents that a step handles at once, so that memory stays bounded.
const batch = 200

// Sweeps returns all scheduled sweeps, each with the steps that the domains add to it. It panics if a step names a
// schedule that does not exist.
func (a *App) Sweeps() []Sweep {
	sweeps := []Sweep{
		{Name: domain.Sessions, Function: "CleanupExpiredSessions", Every: 5 * time.Minute},
		{Name: domain.Tasks, Function: "CleanupOrphanedTasks", Every: 5 * time.Minute},
		{Name: domain.Relay, Function: "CleanupExpiredRelay", Every: 15 * time.Minute},
		{Name: domain.Ledger, Function: "CleanupLedger", Every: 24 * time.Hour},
	}
	for _, d := range offering[domain.Sweeps](a) {
		for _, step := range d.Sweeps() {
			i := slices.IndexFunc(sweeps, func(s Sweep) bool { return s.Name == step.Schedule })
			if i < 0 {
				panic(fmt.Sprintf("app: the sweep of %s has the schedule %q, which is none", step.Name, step.Schedule))
			}
			sweeps[i].steps = append(sweeps[i].steps, step)
		}
	}
	return sweeps
}

// Sparing returns the sweep without the steps that take work from agents.
func (s Sweep) Sparing() Sweep {
	s.steps = slices.DeleteFunc(slices.Clone(s.steps), func(step domain.Sweep) bool { return step.Takes })
	return s
}

// Report is the result of a sweep.
type Report struct {
	Sweep string `json:"sweep"`
	// Handled is the number of documents that each step handled.
	Handled map[string]int `json:"settled"`
	// More is set if the time was over before all documents were handled; the next run continues.
	More bool `json:"more"`
}

// Total returns the number of documents that were handled.
func (r Report) Total() (n int) {
	for _, handled := range r.Handled {
		n += handled
	}
	return n
}

// Run sweeps until no document is left or ctx ends, which is no error. A step that fails does not keep the others from
// running; the errors of all steps are joined.
func (s Sweep) Run(ctx context.Context, a *store.Admin) (Report, error) {
	report := Report{Sweep: s.Name, Handled: map[string]int{}}
	var failed []error
	for _, step := range s.steps {
		report.Handled[step.Name] = 0
		for {
			if ctx.Err() != nil {
				report.More = true
				break
			}
			n, err := step.Run(ctx, a, batch)
			report.Handled[step.Name] += n
			if err != nil && ctx.Err() == nil {
				failed = append(failed, fmt.Errorf("%s: %w", step.Name, err))
			}
			if ctx.Err() == nil && (err != nil || n < batch) {
				break
			}
		}
	}
	return report, errors.Join(failed...)
}
