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

// Process is one that was started here or was found again.
type Process struct {
	// PID is also the number of its process group and of its session.
	PID int
	// StartedAt tells it from a later process of the same PID. It means nothing else.
	StartedAt string

	exited chan struct{}
	exit   Exit   // set before exited is closed
	gone   func() // ends the watch of a process whose group is empty
}

// Exited is closed when the process has ended. What it started may live on.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit is how it ended, once it has.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Waiting is a process that waits to be told what to become.
type Waiting struct {
	*Process
	job    io.WriteCloser
	status *os.File
	kill   func() error
}

// Start starts a process that waits. child is the command that calls [Child]; log gets what the process writes, from
// its beginning to its end, and may be closed at once.
func Start(child []string, log *os.File) (*Waiting, error) {
	jobs, job, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	status, told, err := os.Pipe()
	if err != nil {
		_ = job.Close() // nothing was written
		return nil, err
	}
	defer told.Close()
	cmd := exec.Command(child[0], child[1:]...)
	cmd.Env = []string{} // it gets its environment with its job
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{jobs, told}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start a process: %w", err), job.Close(), status.Close())
	}
	p := &Process{PID: cmd.Process.Pid, exited: make(chan struct{}), gone: func() {}}
	w := &Waiting{p, job, status, cmd.Process.Kill}
	// Asked before it is waited for, so that the PID is still its own.
	p.StartedAt, err = start(p.PID)
	go func() {
		_ = cmd.Wait() // its state is read from it
		p.exit = exitOf(cmd.ProcessState)
		close(p.exited)
	}()
	if err != nil {
		w.Drop()
		return nil, fmt.Errorf("cannot tell when a process began: %w", err)
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

// Drop ends a process that waits. It becomes nothing.
func (w *Waiting) Drop() {
	_, _ = w.job.Close(), w.status.Close() // nothing was written or is read
	_ = w.kill()                           // it may have ended: the pipe is closed
	<-w.exited
}

// Become makes the process the job. Where it cannot, or ctx ends before, the process has ended and the error says why.
func (w *Waiting) Become(ctx context.Context, job Job) (*Process, error) {
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { ended <- w.End(0) })
	// Texts go as the bytes they are: an environment need not be UTF-8.
	err := gob.NewEncoder(w.job).Encode(job)
	if err = errors.Join(err, w.job.Close()); err != nil {
		stop()
		w.Drop()
		return nil, fmt.Errorf("a process ended before it was told what to run: %w", err)
	}
	said, err := io.ReadAll(w.status)
	_ = w.status.Close() // it was read to its end
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

// Adopt finds a process again that lives and began when it did, and looks every so often whether it still does. How it
// ends is not known.
func Adopt(pid int, startedAt string, every time.Duration) (*Process, bool) {
	if !(group{pid, startedAt}).led() {
		return nil, false
	}
	gone := make(chan struct{})
	p := &Process{PID: pid, StartedAt: startedAt, exited: make(chan struct{}),
		gone: sync.OnceFunc(func() { close(gone) })}
	go func() {
		defer close(p.exited)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for (group{pid, startedAt}).led() {
			select {
			case <-tick.C:
			case <-gone:
				return
			}
		}
	}()
	return p, true
}

// End ends the process and its whole group: TERM, and KILL to what is left after the grace. It returns when nothing is
// left, or with an error some seconds after the KILL. What it does to a process that has ended, it does to what that
// left behind.
func (p *Process) End(grace time.Duration) error {
	err := EndGroup(p.PID, p.StartedAt, grace)
	p.gone()
	if err == nil {
		<-p.exited
	}
	return err
}
