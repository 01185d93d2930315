package runner

import (
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/shared/team"
)

// tell tells the server what becomes of a process, in the order in which it did: that it runs, again at every beat, and
// its end until that is acknowledged. It returns then, or when nothing more is to be told.
func (r *Runner) tell(c *child) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	beat := time.NewTicker(r.Times.Beat)
	defer beat.Stop()
	for {
		over := c.over()
		if over && c.unknown.Load() {
			r.done(c)
			return
		}
		report, last := c.next(over)
		err := r.report(c, report)
		switch {
		case r.delivery.Err() != nil:
			return
		case err != nil && over:
			hub.Sleep(r.delivery, r.trouble(&wait, err), nil)
		case err != nil:
			hub.Sleep(r.delivery, r.trouble(&wait, err), c.ended)
		case last:
			r.done(c)
			return
		case !over:
			wait.Reset()
			select {
			case <-beat.C:
			case <-c.ended:
			case <-r.delivery.Done():
			}
		}
	}
}

// over says whether nothing of the process runs.
func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// next is what to tell now, and whether it is the last.
func (c *child) next(over bool) (report team.ReportInput, last bool) {
	select {
	case <-c.ran:
		if !over || !c.told.Load() {
			return team.ReportInput{State: team.Running, PID: int64(c.rec.PID), StartedAt: c.rec.StartedAt,
				LogFile: c.rec.LogFile}, false
		}
	default:
	}
	return c.last, true
}

// report tells one thing. No error is that the server knows it, or never will.
func (r *Runner) report(c *child, report team.ReportInput) error {
	if c.unknown.Load() {
		return nil
	}
	p, err := r.Server.Report(r.delivery, c.rec.ProcessID, report)
	switch {
	case hub.Gone(err):
		c.disown()
		c.end(errUnwanted)
	case hub.Refused(err):
		// It has ended there, so it must end here.
		c.end(errUnwanted)
	case err != nil:
		return err
	case p.Wanted == team.WantEnded:
		c.end(errUnwanted)
	}
	if report.State == team.Running {
		c.told.Store(true)
	}
	return nil
}

// done lets go of a process whose end is known everywhere.
func (r *Runner) done(c *child) {
	if err := r.Journal.Remove(c.rec.ProcessID); err != nil {
		r.Log.Error("a process that was told of stays in the journal", "member", c.rec.Name, "error", err)
	}
	r.forget(c)
}
