package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley.internal/services/hub/internal/runner"
	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
)

// Server are the calls of a worker; a client of the package client implements it.
type Server interface {
	ClaimNextTask(context.Context, dispatch.NextInput) (dispatch.NextOutput, error)
	RenewClaim(context.Context, dispatch.RenewInput) (dispatch.RenewOutput, error)
	ReleaseTask(context.Context, dispatch.ReleaseInput) (dispatch.View, error)
	CompleteTask(context.Context, dispatch.CompleteInput) (dispatch.CompleteOutput, error)
}

// Keys makes the keys of tasks; a client of the package client implements it.
type Keys interface {
	CreateKey(context.Context, keys.CreateInput) (keys.CreateOutput, error)
	RevokeKey(context.Context, keys.RevokeInput) (keys.View, error)
}

// Limits bound the work on one task; zero does not.
type Limits struct {
	Turns   int
	Dollars float64
}

// Times are the intervals and timeouts of a worker. A zero value means the default.
type Times struct {
	// Lease is the time for which a claim holds unless it is renewed; 5 minutes. It is renewed three times as often.
	Lease time.Duration
	// Grace is the time between SIGTERM and SIGKILL when a client has to end; 10 s.
	Grace time.Duration
	// Poll is the interval between the checks of a client that another worker started; 1 s.
	Poll time.Duration
	// Drain is the time for which a worker that ends tries to give its task back; 10 s.
	Drain time.Duration
	// Unit is the shortest pause after an error; 1 s.
	Unit time.Duration
}

// Worker serves the queue of one program. All fields are required but those that say otherwise.
type Worker struct {
	Server Server
	// Keys makes a key for each task; nil means that the client gets the worker's key.
	Keys    Keys
	Journal *journal.Journal
	// Command is the client, which was chosen.
	Command *runner.Command
	// Program is the name that the worker's key speaks for, and Key that key.
	Program, Key string
	// Grant are the scopes and the expiry of a task's key.
	Grant keys.CreateInput
	// URL is the server's URL.
	URL string
	// Dir is the directory in which the client works, without symbolic links.
	Dir string
	// Project and Model may be empty: they choose tasks and the client's model.
	Project, Model string
	Limits         Limits
	// Resume says which session of the client a task goes on with. The default is ByThread.
	Resume Resumption
	// Tasks is the number of tasks after which Run ends; 0 means never.
	Tasks int
	// Env is the worker's environment, and Child the command that calls [launch.Child].
	Env, Child []string
	Times      Times
	Log        *slog.Logger
	Now        func() time.Time

	sessions *sessions
}

const (
	// wait is the time for which the server is asked to wait for a task.
	wait = 55 * time.Second
	// maxIdle is the number of clients in a row that could not begin, after which a worker ends.
	maxIdle = 3
	// pausedFor is the pause after a call that a person has forbidden for now.
	pausedFor = 15 * time.Second
)

// setDefaults fills in the times that are left out.
func (w *Worker) setDefaults() {
	for _, t := range []struct {
		at   *time.Duration
		when time.Duration
	}{{&w.Times.Lease, 5 * time.Minute}, {&w.Times.Grace, 10 * time.Second}, {&w.Times.Poll, time.Second},
		{&w.Times.Drain, 10 * time.Second}, {&w.Times.Unit, time.Second}} {
		if *t.at == 0 {
			*t.at = t.when
		}
	}
}

// errIdle is the outcome of a task whose client could not begin.
type errIdle struct{ why string }

func (e errIdle) Error() string { return e.why }

// Run ends the work that a former worker left, and then serves the queue until ctx ends, which ends the client and
// gives its task back. It returns an error if the worker cannot work, for example with a refused key or a client that
// cannot begin.
func (w *Worker) Run(ctx context.Context) error {
	if !launch.Supported {
		return errors.New("serving a queue needs process groups, which this system lacks; run it on Linux or macOS")
	}
	w.setDefaults()
	var err error
	if w.sessions, err = openSessions(w.Journal); err != nil {
		return err
	}
	left, err := w.Journal.All()
	if err != nil {
		return err
	}
	done := 0
	for _, rec := range left {
		ended, err := w.takeOver(ctx, rec)
		if err != nil && !errors.As(err, new(errIdle)) {
			return err
		}
		if ended && err == nil {
			done++
		}
	}
	return w.serve(ctx, done)
}

// serve claims and runs one task after another. done is the number of those that have ended before.
func (w *Worker) serve(ctx context.Context, done int) error {
	pause := hub.Backoff{Unit: w.Times.Unit}
	for idle := 0; ctx.Err() == nil && (w.Tasks == 0 || done < w.Tasks); {
		began := w.Now()
		got, err := w.Server.ClaimNextTask(ctx, dispatch.NextInput{WaitMs: int(wait.Milliseconds()), ProjectID: w.Project,
			LeaseSeconds: int(w.Times.Lease.Seconds())})
		if err == nil && got.Claimed {
			err = w.run(ctx, *got.Task, got.ClaimToken)
			var cannot errIdle
			switch {
			case errors.As(err, &cannot):
				if idle++; idle == maxIdle {
					return fmt.Errorf("the client could not begin %d times in a row, and the tasks went back: %w; mend that, and "+
						"start again", idle, cannot)
				}
			case err == nil:
				done, idle = done+1, 0
				pause.Reset()
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
		case err == nil:
			pause.Reset()
			if w.Now().Sub(began) < w.Times.Unit { // a server that shuts down answers at once
				hub.Sleep(ctx, w.Times.Unit, nil)
			}
		case hub.Permanent(err) && !fault.Is(err, fault.Paused):
			return err
		default:
			d := pause.Next(err)
			if fault.Is(err, fault.Paused) {
				d = max(d, pausedFor)
			}
			w.Log.Warn("it rests after an error", "error", err, "for", d.Round(time.Millisecond))
			hub.Sleep(ctx, d, nil)
		}
	}
	return nil
}

// until repeats a call until the server answers it for good. It returns the refusal, or ctx's error.
func (w *Worker) until(ctx context.Context, call func(context.Context) error) error {
	pause := hub.Backoff{Unit: w.Times.Unit}
	for {
		err := call(ctx)
		var e *client.Error
		if err == nil || !errors.As(err, &e) || hub.Refused(err) || hub.Permanent(err) && !fault.Is(err, fault.Paused) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d := pause.Next(err)
		w.Log.Warn("a call failed and will be tried again", "error", err, "in", d.Round(time.Millisecond))
		hub.Sleep(ctx, d, nil)
	}
}
