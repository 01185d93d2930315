//go:build unix

package supervise

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group, so that its shell can end all of it, and an interrupt from
// the terminal reaches the parent alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
