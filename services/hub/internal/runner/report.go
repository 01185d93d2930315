package runner

import (
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/shared/team"
)

// report reports the states of a process to the server in order: that it runs, at every heartbeat, and its end until
// the server acknowledges it. It returns after that, or when the runner stops reporting.
func (r *Runner) report(c *child) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	heartbeat := time.NewTicker(r.Times.Heartbeat)
	defer heartbeat.Stop()
	for {
		final := c.hasEnded()
		if final && c.unknown.Load() {
			r.finish(c)
			return
		}
		state, last := c.next(final)
		err := r.send(c, state)
		switch {
		case r.reports.Err() != nil:
			return
		case err != nil && final:
			hub.Sleep(r.reports, r.retryDelay(&wait, err), nil)
		case err != nil:
			hub.Sleep(r.reports, r.retryDelay(&wait, err), c.ended)
		case last:
			r.finish(c)
			return
		case !final:
			wait.Reset()
			select {
			case <-heartbeat.C:
			case <-c.ended:
			case <-r.reports.Done():
			}
		}
	}
}

// hasEnded reports whether the process and its group have ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// next returns the next report, and whether it is the last.
func (c *child) next(ended bool) (report team.ReportInput, last bool) {
	select {
	case <-c.started:
		if !ended || !c.reported.Load() {
			return team.ReportInput{State: team.Running, PID: int64(c.rec.PID), StartedAt: c.rec.StartedAt,
				LogFile: c.rec.LogFile}, false
		}
	default:
	}
	return c.last, true
}

// send sends one report. It returns nil if the server knows the state now or will never need it.
func (r *Runner) send(c *child, state team.ReportInput) error {
	if c.unknown.Load() {
		return nil
	}
	p, err := r.Server.Report(r.reports, c.rec.ProcessID, state)
	switch {
	case hub.Gone(err):
		c.unknown.Store(true)
		c.end(errUnwanted)
	case hub.Refused(err):
		// The server takes the process to have ended, so it must end.
		c.end(errUnwanted)
	case err != nil:
		return err
	case p.Wanted == team.WantEnded:
		c.end(errUnwanted)
	}
	if state.State == team.Running {
		c.reported.Store(true)
	}
	return nil
}

// finish removes a process whose end the server has acknowledged.
func (r *Runner) finish(c *child) {
	if err := r.Journal.Remove(c.rec.ProcessID); err != nil {
		r.Log.Error("a finished process could not be removed from the journal", "member", c.rec.Name, "error", err)
	}
	r.remove(c)
}
