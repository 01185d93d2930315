//go:build unix

package launch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that was started or adopted.
type Process struct {
	// PID is also the ID of its process group and of its session.
	PID int
	// StartedAt identifies the process among those that had or will have the same PID. Its form depends on the system.
	StartedAt string

	exited chan struct{}
	exit   Exit   // set before exited is closed
	stop   func() // ends the polling of an adopted process
}

// Exited returns a channel that is closed when the process has ended. Its children may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit waits for the end of the process and returns its exit status.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Waiting is a process that waits for its job. The caller must call Become or Drop.
type Waiting struct {
	*Process
	job    io.WriteCloser
	status *os.File
	kill   func() error
}

// Start starts a process that waits for its job. child is the command that calls [Child]. log receives the output of
// the process and may be closed when Start returns.
func Start(child []string, log *os.File) (*Waiting, error) {
	jobs, job, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	status, told, err := os.Pipe()
	if err != nil {
		_ = job.Close() // the first error is returned
		return nil, err
	}
	defer told.Close()
	cmd := exec.Command(child[0], child[1:]...)
	cmd.Env = []string{} // the job has its environment
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{jobs, told}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start a process: %w", err), job.Close(), status.Close())
	}
	p := &Process{PID: cmd.Process.Pid, exited: make(chan struct{}), stop: func() {}}
	w := &Waiting{p, job, status, cmd.Process.Kill}
	// The start time is read before Wait, which frees the PID.
	p.StartedAt, err = start(p.PID)
	go func() {
		_ = cmd.Wait() // the exit status is in ProcessState
		p.exit = exitOf(cmd.ProcessState)
		close(p.exited)
	}()
	if err != nil {
		w.Drop()
		return nil, fmt.Errorf("cannot read the start time of a process: %w", err)
	}
	return w, nil
}

func exitOf(state *os.ProcessState) Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Signal: signalName(status.Signal())}
	}
	code := state.ExitCode()
	return Exit{Code: &code}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// Drop ends a process that waits. Its job never runs.
func (w *Waiting) Drop() {
	_, _ = w.job.Close(), w.status.Close() // closing cannot lose data
	_ = w.kill()                           // it may have ended already
	<-w.exited
}

// Become sends the process its job and returns when the job's command runs. After an error, or if ctx ends before, the
// process has ended.
func (w *Waiting) Become(ctx context.Context, job Job) (*Process, error) {
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { ended <- w.End(0) })
	// gob keeps strings as bytes; an environment need not be UTF-8.
	err := gob.NewEncoder(w.job).Encode(job)
	if err = errors.Join(err, w.job.Close()); err != nil {
		stop()
		w.Drop()
		return nil, fmt.Errorf("a process ended before it received its job: %w", err)
	}
	said, err := io.ReadAll(w.status)
	_ = w.status.Close() // it was read to the end
	if !stop() {
		return nil, errors.Join(context.Cause(ctx), <-ended)
	}
	words, ran := strings.CutPrefix(string(said), ready)
	if err == nil && ran && words == "" {
		return w.Process, nil
	}
	<-w.exited
	if words == "" {
		words = "a process ended before it could run " + job.Path
	}
	return nil, errors.New(words)
}

// Adopt returns the process with this PID if it runs and has this start time. It checks at the interval whether the
// process still runs. The exit status of an adopted process is unknown.
func Adopt(pid int, startedAt string, interval time.Duration) (p *Process, ok bool) {
	if !(group{pid, startedAt}).leaderLives() {
		return nil, false
	}
	stop := make(chan struct{})
	p = &Process{PID: pid, StartedAt: startedAt, exited: make(chan struct{}),
		stop: sync.OnceFunc(func() { close(stop) })}
	go func() {
		defer close(p.exited)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for (group{pid, startedAt}).leaderLives() {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return p, true
}

// End ends the process and its whole group: SIGTERM, and SIGKILL after the grace period. It returns when the group has
// ended, or with an error if it still runs some seconds after SIGKILL. If the process itself has ended, End ends the
// rest of its group.
func (p *Process) End(grace time.Duration) error {
	err := EndGroup(p.PID, p.StartedAt, grace)
	p.stop()
	if err == nil {
		<-p.exited
	}
	return err
}
