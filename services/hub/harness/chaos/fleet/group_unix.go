//go:build unix

package fleet

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the head of a process group, so that its shell can end
// all of it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
