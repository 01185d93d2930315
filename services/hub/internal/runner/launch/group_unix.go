//go:build unix

package launch

import (
	"fmt"
	"syscall"
	"time"
)

const (
	// look is how often a group that was told to end is looked at. Nothing tells when a group is empty.
	look = 25 * time.Millisecond
	// stubborn is how long a KILL may take: what waits for a disk does not end before.
	stubborn = 5 * time.Second
)

// group is the process group that a process leads or led.
type group struct {
	pid       int
	startedAt string
}

// member is a process of a group that is not a zombie.
type member struct{ pid, session int }

// led says whether the group's first process lives.
func (g group) led() bool {
	at, err := start(g.pid)
	return err == nil && at == g.startedAt
}

// empty says whether nothing of the group is left, or only what is surely another's that came by the same number.
func (g group) empty() bool {
	if syscall.Kill(-g.pid, 0) == syscall.ESRCH || !sameBoot(g.startedAt) {
		return true
	}
	left, err := members(g.pid)
	if err != nil {
		return false // a KILL too much is better than a process too much
	}
	for _, m := range left {
		// While a group has members its number is given to no new process: one that has the number and began at another
		// time leads another group.
		if m.pid == g.pid && !g.led() || m.session != g.pid && m.session != unknown {
			return true
		}
	}
	return len(left) == 0
}

// unknown is the session of a process where the system does not tell it.
const unknown = -1

// EndGroup ends what is left of the group of a process that may have ended itself, as [Process.End] does. Another's
// group that came by the same number is left alone.
func EndGroup(pid int, startedAt string, grace time.Duration) error {
	g := group{pid, startedAt}
	if g.empty() {
		return nil
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	patience, over := time.NewTimer(grace), time.NewTimer(grace+stubborn)
	defer patience.Stop()
	defer over.Stop()
	_ = syscall.Kill(-pid, syscall.SIGTERM) // what has ended meanwhile is seen below
	killing := false
	for {
		select {
		case <-tick.C:
		case <-patience.C:
			killing = true
		case <-over.C:
			return fmt.Errorf("processes of the group %d do not end", pid)
		}
		if g.empty() {
			return nil
		}
		if killing {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}
