//go:build unix

package launcher

import (
	"syscall"
	"time"
)

// endGroup ends the process group of a terminal's command.
func endGroup(pid int) {
	const tries, pause = 50, 100 * time.Millisecond
	for range tries {
		if syscall.Kill(-pid, syscall.SIGTERM) != nil {
			return // it has ended
		}
		time.Sleep(pause)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended meanwhile
}
