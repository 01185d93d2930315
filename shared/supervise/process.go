package supervise

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Command describes a program to run.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the whole environment of the program; nil passes on that of this process.
	Env []string
	// Output receives the output of the program and its children, stdout and stderr together, one Write at a time; nil
	// discards it.
	Output io.Writer
	// Grace is the time between SIGTERM and SIGKILL when the program has to end, rounded up to whole seconds; 0 means
	// 15 seconds.
	Grace time.Duration
}

// Process is a program that was started.
type Process struct {
	child  *os.Process
	death  io.Closer // the write end of the parent-death pipe
	output *tail
	stop   sync.Once
	exited chan struct{}
	code   int // with known, set before exited is closed
	known  bool
}

// The descriptors that the shell inherits.
const (
	deathFD  = 3 // the read end of the parent-death pipe
	statusFD = 4 // the child's process ID and its exit code go here, one a line
)

// script is the shell's program. Its first argument is the grace period in seconds, and the others are the command.
// SIGTERM goes to the child alone, because some programs end their children themselves, in process groups that a signal
// to this one does not reach. Each status is written by a subshell, because the SIGPIPE of a parent that is gone must
// not end the watching shell.
var script = fmt.Sprintf(`
grace=$1
shift
"$@" %[1]d<&- %[2]d>&- &
child=$!
(echo $child >&%[2]d)
{ cat <&%[1]d >/dev/null; kill -TERM $child 2>/dev/null; sleep $grace; kill -KILL 0; } %[2]d>&- &
wait $child
(echo $? >&%[2]d)
kill -KILL 0
`, deathFD, statusFD)

// Start starts the program. It runs until [Process.Stop], its own end, or the end of this process. If the program
// cannot be run, that is no error here: its exit code is 126 or 127, and its output has the reason.
func (c Command) Start() (*Process, error) {
	deathRead, deathWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer deathRead.Close()
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, deathWrite.Close())
	}
	defer statusWrite.Close()
	p := &Process{death: deathWrite, output: &tail{next: c.Output}, exited: make(chan struct{})}
	grace := (cmp.Or(c.Grace, 15*time.Second) + time.Second - 1) / time.Second
	cmd := exec.Command("sh", append([]string{"-c", script, "supervise", strconv.Itoa(int(grace))}, c.Args...)...)
	ownGroup(cmd)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, p.output, p.output
	cmd.ExtraFiles = []*os.File{deathRead, statusWrite}
	// A process that left the group may keep the output open; Wait gives up on it after this time.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, deathWrite.Close(), statusRead.Close())
	}
	// Closed here too, so that the end of the shell is the end of the status pipe.
	_ = statusWrite.Close()
	status := bufio.NewScanner(statusRead)
	pid, err := readNumber(status)
	if err == nil {
		p.child, err = os.FindProcess(pid)
	}
	go func() {
		defer close(p.exited)
		if code, err := readNumber(status); err == nil {
			p.code, p.known = code, true
		}
		_ = statusRead.Close()
		_ = cmd.Wait() // always an error: the shell kills its own group
		_ = deathWrite.Close()
	}()
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("the shell of %s does not report its process ID: %w\n%s", c.Args[0], err, p.output)
	}
	return p, nil
}

// readNumber reads one line of the status pipe.
func readNumber(status *bufio.Scanner) (int, error) {
	if !status.Scan() {
		return 0, errors.Join(status.Err(), io.ErrUnexpectedEOF)
	}
	return strconv.Atoi(status.Text())
}

// Signal sends a signal to the program alone, not to its children. It returns [os.ErrProcessDone] if the program has
// ended.
func (p *Process) Signal(s os.Signal) error { return p.child.Signal(s) }

// PID returns the process ID of the program. After the program has ended, another one may have it.
func (p *Process) PID() int { return p.child.Pid }

// Stop ends the program and its process group, with SIGTERM first and SIGKILL after the grace period, and returns when
// both have ended. Further calls, and calls for a program that has ended, only wait. It is safe for concurrent use.
func (p *Process) Stop() {
	p.stop.Do(func() { _ = p.death.Close() })
	<-p.exited
}

// Exited returns a channel that is closed when the program has ended and its process group was killed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode returns the exit code of the program as a shell reports it: 128 plus the number of the signal if a signal
// ended the program. known is false while the program runs, and if its shell was killed as well.
func (p *Process) ExitCode() (code int, known bool) {
	select {
	case <-p.exited:
		return p.code, p.known
	default:
		return 0, false
	}
}

// Output returns the last 8 KiB of the program's output, without surrounding white space.
func (p *Process) Output() string { return p.output.String() }
