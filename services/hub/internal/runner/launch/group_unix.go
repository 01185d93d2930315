//go:build unix

package launch

import (
	"fmt"
	"syscall"
	"time"
)

const (
	// pollInterval is the interval of checks whether a group has ended. There is no event for it.
	pollInterval = 25 * time.Millisecond
	// killTimeout is the time that a group may take to end after SIGKILL. A process that waits for a disk ends late.
	killTimeout = 5 * time.Second
)

// group is the process group of a process that may have ended.
type group struct {
	pid       int
	startedAt string
}

// member is a process in a group, zombies excluded.
type member struct{ pid, session int }

// leaderLives reports whether the process that the group was created for still runs.
func (g group) leaderLives() bool {
	at, err := start(g.pid)
	return err == nil && at == g.startedAt
}

// another reports whether the PID belongs to another process now. One that has just ended is none.
func (g group) another() bool {
	at, err := start(g.pid)
	return err == nil && at != g.startedAt
}

// empty reports whether the group has no members, or belongs to another process that got the same PID.
func (g group) empty() bool {
	if syscall.Kill(-g.pid, 0) == syscall.ESRCH || !sameBoot(g.startedAt) {
		return true
	}
	left, err := members(g.pid)
	if err != nil {
		return false // an unnecessary SIGKILL is harmless
	}
	for _, m := range left {
		// The system does not reuse the PID of a group that has members. So a process with this PID and another start
		// time leads another group.
		if m.pid == g.pid && g.another() || m.session != g.pid && m.session != unknownSession {
			return true
		}
	}
	return len(left) == 0
}

// unknownSession is the session of a process on systems that do not report it.
const unknownSession = -1

// EndGroup ends the rest of the group of a process as [Process.End] does; the process itself may have ended. It leaves
// a group alone that belongs to another process with the same PID.
func EndGroup(pid int, startedAt string, grace time.Duration) error {
	g := group{pid, startedAt}
	if g.empty() {
		return nil
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	graceTimer, killTimer := time.NewTimer(grace), time.NewTimer(grace+killTimeout)
	defer graceTimer.Stop()
	defer killTimer.Stop()
	_ = syscall.Kill(-pid, syscall.SIGTERM) // a group that has ended is detected below
	killing := false
	for {
		select {
		case <-tick.C:
		case <-graceTimer.C:
			killing = true
		case <-killTimer.C:
			return fmt.Errorf("process group %d does not end", pid)
		}
		if g.empty() {
			return nil
		}
		if killing {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}
