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

// Server is the team as this runner sees it.
type Server interface {
	Wanted(ctx context.Context, wait time.Duration) ([]team.Process, error)
	Held(ctx context.Context) ([]team.Process, error)
	Claim(ctx context.Context, processID string) (team.Process, error)
	Report(ctx context.Context, processID string, r team.ReportInput) (team.Process, error)
}

// Times are a runner's. Each has a default, which its zero value stands for.
type Times struct {
	// Grace is how long a process may take to end after a TERM, before the KILL; 10 s.
	Grace time.Duration
	// Beat is the time between two heartbeats of a process; 60 s.
	Beat time.Duration
	// Look is the time between two looks at a process that another runner started; 1 s.
	Look time.Duration
	// Parting is how long a runner that is ended tries to tell of its processes' ends; 10 s.
	Parting time.Duration
	// Unit is the shortest time between two tries of a call; 1 s.
	Unit time.Duration
}

// longPoll is how long the server is asked to wait for something to do.
const longPoll = 55 * time.Second

// Runner keeps the processes of one team.
type Runner struct {
	Server  Server
	Journal *journal.Journal
	Command *Command
	// Team is the team's name, and Key the runner's key, which no process gets unless the command passes it on.
	Team, Key string
	// Root is the directory under which processes may work. It is without links.
	Root string
	// Env is the runner's environment, and Child the command that calls [launch.Child].
	Env, Child []string
	Times      Times
	Log        *slog.Logger
	Now        func() time.Time

	// delivery ends when nothing more is told.
	delivery context.Context
	underway sync.WaitGroup

	mu       sync.Mutex
	children map[string]*child
}

// setDefaults fills in the times that are left out.
func (r *Runner) setDefaults() {
	for _, t := range []struct {
		at   *time.Duration
		when time.Duration
	}{{&r.Times.Grace, 10 * time.Second}, {&r.Times.Beat, time.Minute}, {&r.Times.Look, time.Second},
		{&r.Times.Parting, 10 * time.Second}, {&r.Times.Unit, time.Second}} {
		if *t.at == 0 {
			*t.at = t.when
		}
	}
	r.children = map[string]*child{}
}

// Run keeps the processes until ctx ends or the team is gone; then it ends them all, and returns in bounded time. Its
// error says why the runner is of no use: then those that a former runner left are as they were, but for a team that is
// gone.
func (r *Runner) Run(ctx context.Context) error {
	if !launch.Supported {
		return errors.New("a runner needs process groups, which this system does not have; run it on Linux or macOS")
	}
	r.setDefaults()
	if _, err := r.Command.find(r.Command.environment(r.Env, r.Key)); err != nil {
		return err
	}
	records, err := r.Journal.All()
	if err != nil {
		return err
	}
	held, err := r.Server.Held(ctx)
	if hub.Hopeless(err) && !hub.Gone(err) {
		return err
	}
	var silence context.CancelFunc
	r.delivery, silence = context.WithCancel(context.WithoutCancel(ctx))
	defer silence()
	// What begins while the rest is ended is ended too.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, rec := range records {
		r.takeUp(rec)
	}
	if err != nil && !hub.Gone(err) {
		r.Log.Warn("the server does not answer; those that run go on", "error", err)
		held, err = r.held(ctx)
	}
	met := err == nil
	if met {
		r.reconcile(held)
		err = r.follow(ctx)
	}
	stop()
	r.end(silence)
	switch {
	case !hub.Gone(err):
		return nil
	case met:
		r.Log.Warn("the team is gone, and all of it was ended", "team", r.Team)
		return nil
	}
	return fmt.Errorf("%w; make it with team_create, and start the runner again", err)
}

// held asks until the server answers, the team is gone, or ctx ends.
func (r *Runner) held(ctx context.Context) ([]team.Process, error) {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		held, err := r.Server.Held(ctx)
		if err == nil || hub.Gone(err) {
			return held, err
		}
		hub.Sleep(ctx, r.trouble(&wait, err), nil)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// trouble says how long to wait after an error, and tells of it.
func (r *Runner) trouble(wait *hub.Backoff, err error) time.Duration {
	d := wait.Next(err)
	r.Log.Warn("a call failed and is tried again", "error", err, "in", d.Round(time.Millisecond))
	return d
}

// reconcile reports what a former life claimed and has no record of: it was never started. What the server calls lost
// has ended, as far as anybody knows.
func (r *Runner) reconcile(held []team.Process) {
	for _, p := range held {
		if p.State != team.Lost {
			r.neverRan(p, team.ReportInput{State: team.Failed, Error: neverStarted})
		}
	}
}

// neverRan reports the end of a process that this runner holds and has nothing of.
func (r *Runner) neverRan(p team.Process, end team.ReportInput) {
	if c, ok := r.adopt(journal.Record{ProcessID: p.ProcessID, Name: p.Name}); ok {
		r.underway.Go(func() {
			c.note(r, end)
			close(c.ended)
			r.tell(c)
		})
	}
}

// follow acts on what is wanted until ctx ends or the team is gone.
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
			hub.Sleep(ctx, r.trouble(&wait, err), nil)
			continue
		}
		wait.Reset()
		news := false
		for _, p := range wanted {
			news = r.act(ctx, p) || news
		}
		// What is wanted stays so until it was done, and a server that is ended answers every wait at once.
		if !news && r.Now().Sub(began) < r.Times.Unit {
			hub.Sleep(ctx, r.Times.Unit, nil)
		}
	}
}

// act begins what the server wants of a process, and says whether that was news.
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
		r.neverRan(p, team.ReportInput{State: team.Killed, Error: "nothing of it runs here"})
		return false
	case p.State != team.Requested:
		return false
	case !journal.ValidName(p.ProcessID) || !journal.ValidName(p.Name):
		r.Log.Error("the server names a process that cannot be kept", "process", p.ProcessID, "name", p.Name)
		return false
	}
	c, ok := r.adopt(journal.Record{ProcessID: p.ProcessID, Name: p.Name})
	if ok {
		r.underway.Go(func() { r.begin(ctx, c) })
	}
	return ok
}

// adopt takes a process in, unless it is there.
func (r *Runner) adopt(rec journal.Record) (*child, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[rec.ProcessID] != nil {
		return nil, false
	}
	c := newChild(r.delivery, rec)
	r.children[rec.ProcessID] = c
	return c, true
}

// forget lets a process go that is done with.
func (r *Runner) forget(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, c.rec.ProcessID)
}

// end ends every process, and tells of it for a time that is bounded.
func (r *Runner) end(silence context.CancelFunc) {
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
		case <-c.ran:
			<-c.ended
		default: // it is not, or never was
		}
	}
	done := make(chan struct{})
	go func() {
		r.underway.Wait()
		close(done)
	}()
	hub.Sleep(context.Background(), r.Times.Parting, done)
	silence()
	<-done
	if left, err := r.Journal.All(); err == nil && len(left) > 0 {
		r.Log.Warn("the server does not know yet how some ended; the next runner with this state directory tells it",
			"processes", len(left))
	}
}
