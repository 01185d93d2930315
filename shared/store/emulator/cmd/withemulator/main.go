// Command withemulator runs a command with a Firestore emulator beside it:
//
//	withemulator -- go test ./...
//
// It sets FIRESTORE_EMULATOR_HOST, passes signals on, exits with the command's exit code and stops the emulator. If the
// machine has no emulator, the command runs without one, unless REQUIRE_EMULATOR is 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"parley.internal/shared/store/emulator"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withemulator -- command [argument …]")
		os.Exit(2)
	}
	os.Exit(run(args))
}

func run(args []string) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		select {
		case <-signals:
			cancel()
		case <-started:
		}
	}()
	e, err := emulator.Start(ctx)
	close(started)
	<-ready
	env := os.Environ()
	switch {
	case ctx.Err() != nil:
		if e != nil {
			e.Stop()
		}
		return 130
	case err == nil:
		defer e.Stop()
		env = append(env, emulator.Variable+"="+e.Addr)
	case emulator.Required() || !errors.Is(err, emulator.ErrNone):
		fmt.Fprintln(os.Stderr, "withemulator:", err)
		return 1
	default:
		fmt.Fprintln(os.Stderr, "withemulator: tests that need an emulator are skipped:", err)
	}
	return child(args, env, signals)
}

// child runs the command to its end and returns its exit code as a shell would.
func child(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "withemulator:", err)
		return 127
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s)
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	if err != nil && cmd.ProcessState.ExitCode() <= 0 {
		fmt.Fprintln(os.Stderr, "withemulator:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}
