//go:build unix

package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/services/hub/internal/runner"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/worker"
	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
)

// patience is the time that a test waits for an expected event.
const patience = 40 * time.Second

// This binary is also the program that waits for a job.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		fmt.Fprintln(os.Stderr, launch.Child())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// queue is a server with a queue in memory. It records the calls in order.
type queue struct {
	mu      sync.Mutex
	tasks   []dispatch.View
	token   int64
	calls   []string
	done    []dispatch.CompleteInput
	made    []keys.CreateInput
	refuse  map[string]error // by call; the error is returned once
	changed chan struct{}
}

func newQueue(tasks ...dispatch.View) *queue {
	return &queue{tasks: tasks, refuse: map[string]error{}, changed: make(chan struct{})}
}

// note records a call and returns the fault that is planned for it.
func (q *queue) note(format string, a ...any) error {
	call := fmt.Sprintf(format, a...)
	q.calls = append(q.calls, call)
	close(q.changed)
	q.changed = make(chan struct{})
	name, _, _ := strings.Cut(call, " ")
	err := q.refuse[name]
	delete(q.refuse, name)
	return err
}

func (q *queue) ClaimNextTask(ctx context.Context, in dispatch.NextInput) (dispatch.NextOutput, error) {
	for {
		q.mu.Lock()
		changed := q.changed
		if len(q.tasks) > 0 {
			defer q.mu.Unlock()
			t := q.tasks[0]
			if err := q.note("claim %s", t.ID); err != nil {
				return dispatch.NextOutput{}, err
			}
			q.tasks = q.tasks[1:]
			q.token++
			return dispatch.NextOutput{Claimed: true, Task: &t, ClaimToken: q.token}, nil
		}
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return dispatch.NextOutput{}, ctx.Err()
		}
	}
}

func (q *queue) RenewClaim(_ context.Context, in dispatch.RenewInput) (dispatch.RenewOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return dispatch.RenewOutput{}, q.note("renew %s", in.TaskID)
}

func (q *queue) ReleaseTask(_ context.Context, in dispatch.ReleaseInput) (dispatch.View, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return dispatch.View{}, q.note("release %s %d %s", in.TaskID, in.ClaimToken, in.Reason)
}

func (q *queue) CompleteTask(_ context.Context, in dispatch.CompleteInput) (dispatch.CompleteOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.note("complete %s %d %s %s", in.TaskID, in.ClaimToken, in.Outcome, in.Result)
	if err == nil {
		q.done = append(q.done, in)
	}
	return dispatch.CompleteOutput{}, err
}

func (q *queue) CreateKey(_ context.Context, in keys.CreateInput) (keys.CreateOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made = append(q.made, in)
	return keys.CreateOutput{Key: "key of " + in.Name, View: keys.View{ID: "id"}}, q.note("key")
}

func (q *queue) RevokeKey(_ context.Context, in keys.RevokeInput) (keys.View, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return keys.View{}, q.note("revoke %s", in.KeyID)
}

// said returns the calls so far.
func (q *queue) said() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.calls, "\n")
}

// until waits until the calls contain the words.
func (q *queue) until(t *testing.T, words string) {
	t.Helper()
	over := time.After(patience)
	for {
		q.mu.Lock()
		ok, changed := strings.Contains(strings.Join(q.calls, "\n"), words), q.changed
		q.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-over:
			t.Fatalf("%q is not called:\n%s", words, q.said())
		}
	}
}

// refused is a fault as the server answers it.
func refused(kind fault.Kind) error {
	return &client.Error{Fault: fault.New(kind, "no"), Code: kind.Code(), Status: kind.HTTP()}
}

// setup is a worker for a test: where it keeps its state, and a stand-in for a client of agents.
type setup struct {
	t          *testing.T
	dir, state string
	config     func(*runner.Command)
	with       func(*worker.Worker)
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &setup{t: t, dir: dir, state: filepath.Join(t.TempDir(), "state"), with: func(*worker.Worker) {}}
}

// plays makes a shell script the client of a name.
func (s *setup) plays(client, script string) *setup {
	s.t.Helper()
	executabletest.Write(s.t, filepath.Join(s.dir, client), []byte("#!/bin/sh\n"+script))
	s.config = func(c *runner.Command) { c.Client = client }
	return s
}

// runs makes a shell script the operator's command.
func (s *setup) runs(script string) *setup {
	s.config = func(c *runner.Command) {
		if err := c.SetArgs(fmt.Sprintf(`["sh", "-c", %q]`, strings.NewReplacer("{", "{{", "}", "}}").Replace(script))); err != nil {
			s.t.Fatal(err)
		}
	}
	return s
}

// work runs a worker on a queue until ctx ends or it does, and returns its log and its error.
func (s *setup) work(ctx context.Context, q *queue, tasks int) (string, error) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	env := []string{"PATH=" + s.dir + ":/usr/bin:/bin", "PARLEY_KEY=own", "HOME=" + s.dir}
	command := new(runner.Command)
	s.config(command)
	if err := command.Choose(env); err != nil {
		s.t.Fatal(err)
	}
	kept, err := journal.Open(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	var log bytes.Buffer
	w := &worker.Worker{Server: q, Keys: q, Journal: kept, Command: command, Program: "worker", Key: "own", URL: "http://h",
		Grant: keys.CreateInput{Scopes: []string{"read"}}, Dir: s.dir, Tasks: tasks, Env: env, Child: []string{self, "child"},
		Times: worker.Times{Lease: time.Hour, Grace: patience, Poll: 10 * time.Millisecond, Unit: 5 * time.Millisecond},
		Log:   slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}
	s.with(w)
	err = w.Run(ctx)
	return log.String(), err
}

// left returns the records that a worker left in its journal.
func (s *setup) left() []journal.Record {
	s.t.Helper()
	kept, err := journal.Open(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	all, err := kept.All()
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}
