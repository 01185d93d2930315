package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/shared/team"
)

// Server is the team's part of the server as a runner calls it; package hub implements it.
type Server interface {
	Wanted(ctx context.Context, wait time.Duration) ([]team.Process, error)
	Held(ctx context.Context) ([]team.Process, error)
	Claim(ctx context.Context, processID string) (team.ClaimOutput, error)
	Report(ctx context.Context, processID string, r team.ReportInput) (team.Process, error)
	Prompt(ctx context.Context, member, key string) (string, error)
	Unread(ctx context.Context, member, key string) (mail []team.Message, more bool, err error)
}

// Times are the intervals and timeouts of a runner. A zero value means the default.
type Times struct {
	// Grace is the time between SIGTERM and SIGKILL when a process has to end; 10 s.
	Grace time.Duration
	// Heartbeat is the interval between the heartbeats of a process; 60 s.
	Heartbeat time.Duration
	// Poll is the interval between the checks of a process that another runner started; 1 s.
	Poll time.Duration
	// Drain is the time for which a runner that ends tries to report the ends of its processes; 10 s.
	Drain time.Duration
	// Unit is the shortest pause between two tries of a call; 1 s.
	Unit time.Duration
}

// longPoll is the time for which the server is asked to wait for changes.
const longPoll = 55 * time.Second

// toolsets are the toolsets in a member's MCP entry: the daily tools of an agent, all of the queue, and its team.
const toolsets = "agent,dispatch,team"

// Runner runs the processes of one team. All fields are required but Times and Pane.
type Runner struct {
	Server  Server
	Journal *journal.Journal
	Command *Command
	// URL is the server's URL, to which a client's MCP entry appends the endpoint.
	URL string
	// Team is the team's name and Key the runner's key, which no process receives.
	Team, Key string
	// Root is the directory for the processes' working directories, without symbolic links.
	Root string
	// Env is the runner's environment, of which the processes inherit a part. Child is the command that calls
	// [launch.Child].
	Env, Child []string
	// Pane is the command that calls [launcher.RunPane], for members that a person can attach to.
	Pane  []string
	Times Times
	Log   *slog.Logger
	Now   func() time.Time

	// reports is the context of all calls that report a process; it outlives Run's.
	reports context.Context
	tasks   sync.WaitGroup

	mu       sync.Mutex
	children map[string]*child
}

// setDefaults fills in the times that are left out.
func (r *Runner) setDefaults() {
	for _, t := range []struct {
		at   *time.Duration
		when time.Duration
	}{{&r.Times.Grace, 10 * time.Second}, {&r.Times.Heartbeat, time.Minute}, {&r.Times.Poll, time.Second},
		{&r.Times.Drain, 10 * time.Second}, {&r.Times.Unit, time.Second}} {
		if *t.at == 0 {
			*t.at = t.when
		}
	}
	r.children = map[string]*child{}
}

// Run runs the team's processes until ctx ends or the team is deleted. Then it ends all processes and returns nil
// within a bounded time. It returns an error at once if the runner cannot work, for example without the command's
// program or with a refused key; the processes of a former runner then keep running. If the team does not exist, it
// ends the processes of a former runner and returns an error.
func (r *Runner) Run(ctx context.Context) error {
	if !launch.Supported {
		return errors.New("the runner needs process groups, which this system lacks; run it on Linux or macOS")
	}
	r.setDefaults()
	if err := r.Command.Choose(r.Command.environment(r.Env, r.Key, "")); err != nil {
		return err
	}
	records, err := r.Journal.All()
	if err != nil {
		return err
	}
	held, err := r.Server.Held(ctx)
	if hub.Permanent(err) && !hub.Gone(err) {
		return err
	}
	var stopReports context.CancelFunc
	r.reports, stopReports = context.WithCancel(context.WithoutCancel(ctx))
	defer stopReports()
	// Processes that start during the shutdown are ended as well.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, rec := range records {
		r.resume(rec)
	}
	if err != nil && !hub.Gone(err) {
		r.Log.Warn("the server does not answer; running processes continue", "error", err)
		held, err = r.held(ctx)
	}
	found := err == nil
	if found {
		r.reconcile(held)
		err = r.follow(ctx)
	}
	stop()
	r.end(stopReports)
	switch {
	case !hub.Gone(err):
		return nil
	case found:
		r.Log.Warn("the team was deleted; its processes were ended", "team", r.Team)
		return nil
	}
	return fmt.Errorf("%w; make it with team_create, and start the runner again", err)
}

// held lists the processes that this runner has claimed. It retries until the server answers, the team is gone or ctx
// ends.
func (r *Runner) held(ctx context.Context) ([]team.Process, error) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		held, err := r.Server.Held(ctx)
		if err == nil || hub.Gone(err) {
			return held, err
		}
		hub.Sleep(ctx, r.retryDelay(&wait, err), nil)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// retryDelay logs an error and returns the pause before the next try.
func (r *Runner) retryDelay(wait *hub.Backoff, err error) time.Duration {
	d := wait.Next(err)
	r.Log.Warn("a call failed and will be tried again", "error", err, "in", d.Round(time.Millisecond))
	return d
}

// reconcile reports processes that a former runner claimed but did not record: they were never started. Processes that
// the server calls lost are taken to have ended.
func (r *Runner) reconcile(held []team.Process) {
	for _, p := range held {
		if p.State != team.Lost {
			r.reportNotRunning(p, team.ReportInput{State: team.Failed, Error: neverStarted})
		}
	}
}

// reportNotRunning reports the end of a process that this runner holds but that does not run here.
func (r *Runner) reportNotRunning(p team.Process, end team.ReportInput) {
	if c, ok := r.add(journal.Record{ProcessID: p.ProcessID, Name: p.Name}); ok {
		r.tasks.Go(func() {
			c.recordEnd(r, end)
			close(c.ended)
			r.report(c)
		})
	}
}

// follow starts and ends processes as the server wants, until ctx ends or the team is gone.
func (r *Runner) follow(ctx context.Context) error {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		began := r.Now()
		wanted, err := r.Server.Wanted(ctx, longPoll)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case hub.Gone(err):
			return err
		case err != nil:
			hub.Sleep(ctx, r.retryDelay(&wait, err), nil)
			continue
		}
		wait.Reset()
		changed := false
		for _, p := range wanted {
			changed = r.act(ctx, p) || changed
		}
		// Avoid a busy loop: a process stays wanted until it is handled, and a server that shuts down answers every
		// wait at once.
		if !changed && r.Now().Sub(began) < r.Times.Unit {
			hub.Sleep(ctx, r.Times.Unit, nil)
		}
	}
}

// act starts or ends a process as the server wants, and reports whether it did anything.
func (r *Runner) act(ctx context.Context, p team.Process) bool {
	r.mu.Lock()
	c := r.children[p.ProcessID]
	r.mu.Unlock()
	switch {
	case c != nil && p.Wanted == team.WantEnded:
		return c.end(errUnwanted)
	case c != nil:
		return false
	case p.Wanted == team.WantEnded:
		r.reportNotRunning(p, team.ReportInput{State: team.Killed, Error: "it does not run here"})
		return false
	case p.State != team.Requested:
		return false
	case !journal.ValidName(p.ProcessID) || !journal.ValidName(p.Name):
		r.Log.Error("the server sent a process with an invalid ID or name", "process", p.ProcessID, "name", p.Name)
		return false
	}
	c, ok := r.add(journal.Record{ProcessID: p.ProcessID, Name: p.Name})
	if ok {
		r.tasks.Go(func() { r.begin(ctx, c) })
	}
	return ok
}

// add registers a process. It returns false if the process is registered already.
func (r *Runner) add(rec journal.Record) (*child, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[rec.ProcessID] != nil {
		return nil, false
	}
	c := newChild(r.reports, rec)
	r.children[rec.ProcessID] = c
	return c, true
}

// remove removes a process that is finished.
func (r *Runner) remove(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, c.rec.ProcessID)
}

// end ends all processes and reports their ends for at most Times.Drain.
func (r *Runner) end(stopReports context.CancelFunc) {
	r.mu.Lock()
	all := make([]*child, 0, len(r.children))
	for _, c := range r.children {
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, c := range all {
		c.end(errStopped)
	}
	for _, c := range all {
		select {
		case <-c.started:
			<-c.ended
		default: // the command is not running
		}
	}
	done := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(done)
	}()
	hub.Sleep(context.Background(), r.Times.Drain, done)
	stopReports()
	<-done
	if left, err := r.Journal.All(); err == nil && len(left) > 0 {
		r.Log.Warn("some ends are not reported yet; the next runner with this state directory will report them",
			"processes", len(left))
	}
}
