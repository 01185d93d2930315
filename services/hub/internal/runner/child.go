package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/shared/team"
)

// The reasons for ending a process.
var (
	errUnwanted = errors.New("its end was requested")
	errStopped  = errors.New("its runner was stopped")
)

// neverStarted is the error of a process that was claimed but not started.
const neverStarted = "its runner ended before starting it"

// child is a process that the runner has claimed or is about to claim.
type child struct {
	// rec is the process's record in the journal. The goroutine that starts or resumes the process owns it until ended
	// is closed.
	rec journal.Record
	// wanted is cancelled when the process has to end.
	wanted context.Context
	unwant context.CancelCauseFunc
	// started is closed when the process runs the command; it stays open if that fails.
	started chan struct{}
	// reported is set when the server knows that the process started.
	reported atomic.Bool
	// unknown is set when the server no longer knows the process; then there are no further reports.
	unknown atomic.Bool
	// ended is closed when the process and its group have ended. last is then the final report.
	ended chan struct{}
	last  team.ReportInput
	// adopted is set if a former runner started the process.
	adopted bool
}

func newChild(ctx context.Context, rec journal.Record) *child {
	c := &child{rec: rec, started: make(chan struct{}), ended: make(chan struct{})}
	c.wanted, c.unwant = context.WithCancelCause(ctx)
	c.reported.Store(rec.Told)
	return c
}

// end asks the process to end. It returns false if it was asked before.
func (c *child) end(why error) bool {
	first := c.wanted.Err() == nil
	c.unwant(why)
	return first
}

// recordEnd records the end of the process in the journal, for a successor. If the journal cannot be written, the end
// is reported all the same.
func (c *child) recordEnd(r *Runner, end team.ReportInput) {
	r.tidy(c)
	end.PID, end.StartedAt, end.LogFile = int64(c.rec.PID), c.rec.StartedAt, c.rec.LogFile
	c.last, c.rec.Told = end, c.reported.Load()
	text, err := json.Marshal(end)
	if c.rec.End = text; err == nil {
		err = r.Journal.Put(c.rec)
	}
	if err != nil {
		r.Log.Error("the end of a process could not be written to the journal", "member", c.rec.Name, "error", err)
	}
}

// begin claims a process, starts it, and reports it until its end.
func (r *Runner) begin(ctx context.Context, c *child) {
	claimed, err := r.claim(ctx, c)
	p := claimed.Process
	if err != nil {
		r.Log.Info("a process was not claimed", "member", c.rec.Name, "error", err)
		close(c.ended)
		r.remove(c)
		return
	}
	if p.Wanted == team.WantEnded {
		c.end(errUnwanted)
	}
	proc, err := r.start(c, p, claimed.Key)
	if err == nil {
		r.Log.Info("a process started", "member", c.rec.Name, "pid", proc.PID, "log", c.rec.LogFile)
		close(c.started)
		r.tasks.Go(func() { r.watch(c, proc) })
		r.report(c)
		return
	}
	end := team.ReportInput{State: team.Failed, Error: err.Error()}
	if errors.Is(err, errUnwanted) || errors.Is(err, errStopped) {
		end.State = team.Killed
	}
	r.Log.Error("a process could not be started", "member", c.rec.Name, "error", err)
	c.rec.PID, c.rec.StartedAt = 0, "" // the command did not run
	c.recordEnd(r, end)
	close(c.ended)
	r.report(c)
}

// claim claims the process on the server. It retries until the server answers or the runner stops. It waits for a call
// in flight even then, because the outcome must be known.
func (r *Runner) claim(ctx context.Context, c *child) (team.ClaimOutput, error) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		p, err := r.Server.Claim(r.reports, c.rec.ProcessID)
		if err == nil || hub.Refused(err) || hub.Gone(err) {
			return p, err
		}
		hub.Sleep(ctx, r.retryDelay(&wait, err), c.wanted.Done())
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
	}
}

// start starts a claimed process with the member's key. If it fails, nothing of the process is running.
func (r *Runner) start(c *child, p team.Process, key string) (*launch.Process, error) {
	if err := context.Cause(c.wanted); err != nil {
		return nil, err
	}
	// The ID and the name become parts of file names. They were checked before the claim.
	if p.ProcessID != c.rec.ProcessID || p.Name != c.rec.Name {
		return nil, errors.New("the server answered the claim with another process")
	}
	if key != "" && parleyKey.FindString(key) != key {
		return nil, errors.New("the server answered the claim with a key that is none")
	}
	if err := r.Journal.Put(c.rec); err != nil {
		return nil, err
	}
	ready, err := r.prepare(c, p, key)
	if err != nil {
		return nil, err
	}
	file := r.Journal.Log(p.Name)
	log, err := launch.OpenLog(file, fmt.Sprintf("--- %s %q begins, process %s", r.Now().UTC().Format(time.RFC3339),
		p.AgentID, p.ProcessID))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if c.rec.LogFrom, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("cannot read the length of the log: %w", err)
	}
	waiting, err := launch.Start(r.Child, log)
	if err != nil {
		return nil, err
	}
	c.rec.PID, c.rec.StartedAt, c.rec.LogFile = waiting.PID, waiting.StartedAt, file
	if err := r.Journal.Put(c.rec); err != nil {
		waiting.Drop()
		c.rec.PID, c.rec.StartedAt = 0, ""
		return nil, err
	}
	return waiting.Become(c.wanted, ready)
}

// watch waits until a process ends or has to end, and then ends the rest of its process group.
func (r *Runner) watch(c *child, proc *launch.Process) {
	defer close(c.ended)
	select {
	case <-proc.Exited():
	case <-c.wanted.Done():
	}
	select {
	case <-proc.Exited():
		// The end is recorded first, because ending the group takes time.
		end := c.ending(team.Exited, proc.Exit())
		end.Error = withLastLines(end.Error, c.rec.LogFile, c.rec.LogFrom)
		c.recordEnd(r, end)
		if err := proc.End(r.Times.Grace); err != nil {
			r.Log.Error("a process group does not end", "member", c.rec.Name, "pid", proc.PID, "error", err)
		}
	default:
		end := team.ReportInput{State: team.Killed}
		err := proc.End(r.Times.Grace)
		if err == nil {
			end = c.ending(team.Killed, proc.Exit())
			if why := context.Cause(c.wanted); !errors.Is(why, errUnwanted) {
				err = why
			}
		}
		if err != nil {
			end.Error = err.Error()
		}
		c.recordEnd(r, end)
	}
	r.Log.Info("a process ended", "member", c.rec.Name, "pid", proc.PID, "state", c.last.State, "signal", c.last.Signal,
		"error", c.last.Error)
}

// ending returns the report of a process's end, as far as it is known.
func (c *child) ending(state team.State, exit launch.Exit) team.ReportInput {
	end := team.ReportInput{State: state, ExitCode: exit.Code, Signal: exit.Signal}
	if c.adopted {
		end.Error = "the exit status is unknown: the runner that started the process ended before it"
	}
	return end
}

// resume continues with a process of a former runner: it watches one that still runs, and reports the end of any other.
func (r *Runner) resume(rec journal.Record) {
	c, _ := r.add(rec)
	if len(rec.End) > 0 {
		r.tasks.Go(func() { r.reportEnd(c) })
		return
	}
	if rec.PID == 0 {
		r.tasks.Go(func() {
			c.recordEnd(r, team.ReportInput{State: team.Failed, Error: neverStarted})
			close(c.ended)
			r.report(c)
		})
		return
	}
	c.adopted = true
	close(c.started)
	proc, lives := launch.Adopt(rec.PID, rec.StartedAt, r.Times.Poll)
	if lives {
		r.Log.Info("a process of a former runner is still running", "member", rec.Name, "pid", rec.PID)
		r.tasks.Go(func() { r.watch(c, proc) })
	} else {
		r.tasks.Go(func() {
			r.endLeftovers(rec)
			c.recordEnd(r, team.ReportInput{State: team.Lost, Error: withLastLines(
				"it ended while no runner was running; its exit status is unknown", rec.LogFile, rec.LogFrom)})
			close(c.ended)
		})
	}
	r.tasks.Go(func() { r.report(c) })
}

// reportEnd reports an end that a former runner recorded.
func (r *Runner) reportEnd(c *child) {
	r.endLeftovers(c.rec)
	if err := json.Unmarshal(c.rec.End, &c.last); err != nil {
		c.last = team.ReportInput{State: team.Lost, Error: "the journal of its runner cannot be read"}
	}
	if c.rec.PID != 0 {
		close(c.started)
	}
	close(c.ended)
	r.report(c)
}

// endLeftovers ends the process group of a process that a former runner started.
func (r *Runner) endLeftovers(rec journal.Record) {
	if rec.PID == 0 {
		return
	}
	if err := launch.EndGroup(rec.PID, rec.StartedAt, r.Times.Grace); err != nil {
		r.Log.Error("a process group does not end", "member", rec.Name, "pid", rec.PID, "error", err)
	}
}
