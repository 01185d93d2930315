//go:build !windows

package local

import (
	"errors"
	"os"
	"syscall"
)

// exists reports whether there is a process with a number.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Detached are the attributes of a process that outlives the terminal of the one that starts it.
func Detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// openTerminal opens a terminal for writing, and waits for nothing.
func openTerminal(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
}
