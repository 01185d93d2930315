//go:build unix

package launch

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// Supported says whether processes can be kept on this system.
const Supported = true

// The descriptors that the waiting program inherits.
const (
	jobFD    = 3 // the job comes here, and then the end
	statusFD = 4 // what became of it goes here
)

// ready is written before the program is replaced. Nothing behind it means that it was.
const ready = "\n"

// Child waits for a job and becomes it. It returns only where there is none, or none that can be run; then nothing was.
func Child() error {
	signal.Reset() // a TERM must end it, whatever the command line made of one
	keepBack()
	jobs, status := os.NewFile(jobFD, "job"), os.NewFile(statusFD, "status")
	if info, err := jobs.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return errors.New("this command is for `parley runner` alone")
	}
	err := become(jobs, status)
	_, _ = io.WriteString(status, err.Error()) // a runner that is gone hears nothing
	return err
}

// keepBack has the job inherit its three streams and nothing else, neither of this program's nor of what the runner's
// own starter left open.
func keepBack() {
	syscall.CloseOnExec(jobFD)
	syscall.CloseOnExec(statusFD)
	names, _ := os.ReadDir("/dev/fd") // where it cannot be read, what was left open stays so
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func become(jobs io.Reader, status io.Writer) error {
	var job Job
	if err := gob.NewDecoder(jobs).Decode(&job); err != nil {
		return errors.New("the runner ended before it said what to run")
	}
	if err := os.Chdir(job.Dir); err != nil {
		return fmt.Errorf("the working directory cannot be entered: %w", err)
	}
	at, err := syscall.Getwd() // not what PWD says
	if err != nil {
		return fmt.Errorf("the working directory cannot be checked: %w", err)
	}
	if !under(job.Root, at) {
		return outside(job.Dir, job.Root)
	}
	if _, err := io.WriteString(status, ready); err != nil {
		return err
	}
	return fmt.Errorf("cannot run %s: %w", job.Path, syscall.Exec(job.Path, job.Args, job.Env))
}
