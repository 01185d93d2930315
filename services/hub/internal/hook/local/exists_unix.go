//go:build !windows

package local

import (
	"errors"
	"syscall"
)

// exists reports whether there is a process with a number.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Detached are the attributes of a process that outlives the terminal of the one that starts it.
func Detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
