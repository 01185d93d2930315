package local

import (
	"os"
	"syscall"
)

func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

// Detached are the attributes of a process that outlives the terminal of the one that starts it.
func Detached() *syscall.SysProcAttr { return nil }

// openTerminal is of no use here: no terminal is found.
func openTerminal(path string) (*os.File, error) { return nil, os.ErrNotExist }
