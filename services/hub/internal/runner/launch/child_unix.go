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

// Supported reports whether this system is supported.
const Supported = true

// The file descriptors that the waiting program inherits.
const (
	jobFD    = 3 // receives the job
	statusFD = 4 // sends the outcome
)

// ready is sent before the program replaces itself. If no error follows, it did.
const ready = "\n"

// Child waits for a job and replaces this process with its command. It returns only if that fails; then the command did
// not run.
func Child() error {
	_ = Protect()  // the job holds the environment; the command itself is not protected
	signal.Reset() // SIGTERM must end this process
	closeOnExec()
	jobs, status := os.NewFile(jobFD, "job"), os.NewFile(statusFD, "status")
	if info, err := jobs.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return errors.New("only `parley runner` may run this command")
	}
	err := replace(jobs, status)
	_, _ = io.WriteString(status, err.Error()) // the runner may be gone
	return err
}

// closeOnExec keeps all file descriptors but the standard streams from the command, including those that the runner
// itself inherited.
func closeOnExec() {
	syscall.CloseOnExec(jobFD)
	syscall.CloseOnExec(statusFD)
	names, _ := os.ReadDir("/dev/fd") // best effort
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func replace(jobs io.Reader, status io.Writer) error {
	var job Job
	if err := gob.NewDecoder(jobs).Decode(&job); err != nil {
		return errors.New("the runner ended before it sent the job")
	}
	if err := openStdin(job.Stdin); err != nil {
		return err
	}
	if err := os.Chdir(job.Dir); err != nil {
		return fmt.Errorf("cannot enter the working directory: %w", err)
	}
	at, err := syscall.Getwd() // os.Getwd would trust PWD
	if err != nil {
		return fmt.Errorf("cannot check the working directory: %w", err)
	}
	if !contains(job.Root, at) {
		return errOutside(job.Dir, job.Root)
	}
	if _, err := io.WriteString(status, ready); err != nil {
		return err
	}
	return fmt.Errorf("cannot run %s: %w", job.Path, syscall.Exec(job.Path, job.Args, job.Env))
}

// openStdin opens the file as the standard input. An empty name leaves it as it is.
func openStdin(file string) error {
	if file == "" {
		return nil
	}
	// The lowest free descriptor is 0 then, and nothing else is opened at this time.
	_ = syscall.Close(0) // it is open
	fd, err := syscall.Open(file, syscall.O_RDONLY, 0)
	if err == nil && fd != 0 {
		err = fmt.Errorf("it became descriptor %d", fd)
	}
	if err != nil {
		return fmt.Errorf("cannot open %s as the standard input: %w", file, err)
	}
	return nil
}
