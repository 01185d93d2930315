package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/template"
	"parley.internal/shared/team"
)

// Why a process is ended.
var (
	errUnwanted = errors.New("it was no longer wanted")
	errStopped  = errors.New("its runner was ended")
)

// neverStarted is what is told of a process that was claimed, and no more.
const neverStarted = "the runner ended before it could start this"

// child is one process that the runner claimed or is about to.
type child struct {
	// rec is what the journal has of it. Who began the child has it until ended.
	rec journal.Record
	// wanted ends when the process is to end.
	wanted context.Context
	unwant context.CancelCauseFunc
	// ran is closed once the process is the command; it never is where it did not become it.
	ran chan struct{}
	// told says that the server knows that it ran.
	told atomic.Bool
	// unknown says that the server does not know it, so that nothing is told.
	unknown atomic.Bool
	// ended is closed when nothing of it runs, and last is then what to tell.
	ended chan struct{}
	last  team.ReportInput
	// adopted says that a former runner started it.
	adopted bool
}

func newChild(ctx context.Context, rec journal.Record) *child {
	c := &child{rec: rec, ran: make(chan struct{}), ended: make(chan struct{})}
	c.wanted, c.unwant = context.WithCancelCause(ctx)
	c.told.Store(rec.Told)
	return c
}

// end has the process ended, and says whether that is news.
func (c *child) end(why error) bool {
	news := c.wanted.Err() == nil
	c.unwant(why)
	return news
}

// disown says that the server does not know the process.
func (c *child) disown() { c.unknown.Store(true) }

// note has the journal keep how the process ended, so that a successor knows. A journal that cannot be written costs
// the successor's knowledge, and nothing else.
func (c *child) note(r *Runner, end team.ReportInput) {
	end.PID, end.StartedAt, end.LogFile = int64(c.rec.PID), c.rec.StartedAt, c.rec.LogFile
	c.last, c.rec.Told = end, c.told.Load()
	text, err := json.Marshal(end)
	if c.rec.End = text; err == nil {
		err = r.Journal.Put(c.rec)
	}
	if err != nil {
		r.Log.Error("the end of a process is not in the journal; it is told all the same", "member", c.rec.Name,
			"error", err)
	}
}

// begin claims a process, starts it, keeps it to its end and tells of it.
func (r *Runner) begin(ctx context.Context, c *child) {
	p, err := r.claim(ctx, c)
	if err != nil {
		r.Log.Info("a process was not claimed", "member", c.rec.Name, "why", err)
		close(c.ended)
		r.forget(c)
		return
	}
	if p.Wanted == team.WantEnded {
		c.end(errUnwanted)
	}
	proc, err := r.start(c, p)
	if err == nil {
		r.Log.Info("a process runs", "member", c.rec.Name, "pid", proc.PID, "log", c.rec.LogFile)
		close(c.ran)
		r.underway.Go(func() { r.keep(c, proc) })
		r.tell(c)
		return
	}
	end := team.ReportInput{State: team.Failed, Error: err.Error()}
	if errors.Is(err, errUnwanted) || errors.Is(err, errStopped) {
		end.State = team.Killed
	}
	r.Log.Error("a process was not started", "member", c.rec.Name, "error", err)
	c.rec.PID, c.rec.StartedAt = 0, "" // nothing of it was the command
	c.note(r, end)
	close(c.ended)
	r.tell(c)
}

// claim asks until the server answers, or the runner is ended. A call under way is waited for even then: its outcome
// must be known.
func (r *Runner) claim(ctx context.Context, c *child) (team.Process, error) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		p, err := r.Server.Claim(r.delivery, c.rec.ProcessID)
		if err == nil || hub.Refused(err) || hub.Gone(err) {
			return p, err
		}
		hub.Sleep(ctx, r.trouble(&wait, err), c.wanted.Done())
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
	}
}

// start makes a process of what was claimed. Where it fails nothing runs.
func (r *Runner) start(c *child, p team.Process) (*launch.Process, error) {
	if err := context.Cause(c.wanted); err != nil {
		return nil, err
	}
	if err := r.Journal.Put(c.rec); err != nil {
		return nil, err
	}
	env := r.Command.environment(r.Env, r.Key)
	path, err := r.Command.find(env)
	if err != nil {
		return nil, err
	}
	dir, err := launch.Place(r.Root, p.Cwd)
	if err != nil {
		return nil, err
	}
	args, err := r.Command.Args.Args(template.Values{ProcessID: p.ProcessID, AgentID: p.AgentID, Name: p.Name,
		Team: r.Team, Color: p.Color,
		LeadSessionID: p.LeadSessionID, AgentType: p.AgentType, Model: p.Model, CWD: dir,
		PlanModeRequired: p.PlanModeRequired})
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
	return waiting.Become(c.wanted, launch.Job{Path: path, Args: append([]string{r.Command.Args.Name()}, args...),
		Env: append(env, "PWD="+dir), Dir: dir, Root: r.Root})
}

// keep watches a process until it ends or is to end, and ends what it leaves behind.
func (r *Runner) keep(c *child, proc *launch.Process) {
	defer close(c.ended)
	select {
	case <-proc.Exited():
	case <-c.wanted.Done():
	}
	select {
	case <-proc.Exited():
		// It is kept before the rest is ended, which takes its time.
		c.note(r, c.ending(team.Exited, proc.Exit()))
		if err := proc.End(r.Times.Grace); err != nil {
			r.Log.Error("what a process left behind does not end", "member", c.rec.Name, "pid", proc.PID, "error", err)
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
		c.note(r, end)
	}
	r.Log.Info("a process ended", "member", c.rec.Name, "pid", proc.PID, "state", c.last.State, "signal", c.last.Signal,
		"error", c.last.Error)
}

// ending is how a process ended, as far as it is known.
func (c *child) ending(state team.State, exit launch.Exit) team.ReportInput {
	end := team.ReportInput{State: state, ExitCode: exit.Code, Signal: exit.Signal}
	if c.adopted {
		end.Error = "how it exited is not known: the runner that started it was ended before"
	}
	return end
}

// takeUp takes up a process of a former runner's: one that lives is kept, and of any other it is told what is known.
func (r *Runner) takeUp(rec journal.Record) {
	c, _ := r.adopt(rec)
	if len(rec.End) > 0 {
		r.underway.Go(func() { r.resume(c) })
		return
	}
	if rec.PID == 0 {
		r.underway.Go(func() {
			c.note(r, team.ReportInput{State: team.Failed, Error: neverStarted})
			close(c.ended)
			r.tell(c)
		})
		return
	}
	c.adopted = true
	close(c.ran)
	proc, lives := launch.Adopt(rec.PID, rec.StartedAt, r.Times.Look)
	if lives {
		r.Log.Info("a process of a former runner is found again", "member", rec.Name, "pid", rec.PID)
		r.underway.Go(func() { r.keep(c, proc) })
	} else {
		r.underway.Go(func() {
			r.endLeftovers(rec)
			c.note(r, team.ReportInput{State: team.Lost,
				Error: "it ended while no runner watched it; how it exited is not known"})
			close(c.ended)
		})
	}
	r.underway.Go(func() { r.tell(c) })
}

// resume tells of an end that a former runner saw.
func (r *Runner) resume(c *child) {
	r.endLeftovers(c.rec)
	if err := json.Unmarshal(c.rec.End, &c.last); err != nil {
		c.last = team.ReportInput{State: team.Lost, Error: "the journal of its runner cannot be read"}
	}
	if c.rec.PID != 0 {
		close(c.ran)
	}
	close(c.ended)
	r.tell(c)
}

// endLeftovers ends what a process of a former runner's left behind.
func (r *Runner) endLeftovers(rec journal.Record) {
	if rec.PID == 0 {
		return
	}
	if err := launch.EndGroup(rec.PID, rec.StartedAt, r.Times.Grace); err != nil {
		r.Log.Error("what a process left behind does not end", "member", rec.Name, "pid", rec.PID, "error", err)
	}
}
