package connectd

import (
	"slices"
	"sync"
	"time"

	"parley.internal/services/hub/internal/checkout/snapshot"
)

// kept is the time for which the author of a change is remembered. A command that runs longer is compared without it.
const kept = time.Hour

// authors knows which files of the worktrees of this machine were changed by whom, and when, so that nobody is taken for the
// author of what another did meanwhile: those that an edit tool changed, and those that a command has been told of.
type authors struct {
	mu      sync.Mutex
	changes []change
}

// change is an edit or the time of a command.
type change struct {
	session, use string
	root         string
	files        []string
	from, to     time.Time // to is zero while it goes on
}

// begin remembers an edit that goes on until end.
func (a *authors) begin(c change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes = slices.DeleteFunc(a.changes, func(c change) bool { return time.Since(c.from) > kept })
	a.changes = append(a.changes, c)
}

// end ends the edits of a session: that of one call, or all with an empty id.
func (a *authors) end(session, use string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, c := range a.changes {
		if c.session == session && (use == "" || c.use == use) && c.to.IsZero() {
			a.changes[i].to = time.Now()
		}
	}
}

// claim returns those of the files that nobody else is known to have changed since the time, and remembers that they are told
// of a session's command.
func (a *authors) claim(session, root string, files []string, since time.Time) (own []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := map[string]bool{}
	for _, c := range a.changes {
		if c.root == root && (c.to.IsZero() || c.to.After(since.Add(-snapshot.Grain))) {
			for _, f := range c.files {
				known[f] = true
			}
		}
	}
	for _, f := range files {
		if !known[f] {
			own = append(own, f)
		}
	}
	if len(own) > 0 {
		a.changes = append(a.changes, change{session: session, root: root, files: own, from: since, to: time.Now()})
	}
	return own
}
