//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the head of a process group, so that the watchdog
// can end all of it, and a ^C for us is not one for the server.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
