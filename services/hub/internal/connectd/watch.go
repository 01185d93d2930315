package connectd

import (
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
)

// watched is a process of a client, in which one session follows another.
type watched struct {
	connection string
	pid        int
}

// watch makes a process the one that watches for its client, ends the one before, and gives it to the client's session. A
// client starts it once with the id of its first session, so later sessions are known by the client's process. The function
// that is returned takes it back.
func (d *Daemon) watch(w *waiter, req local.Request) (end func()) {
	of := watched{req.Connection, req.Process.PID}
	d.mu.Lock()
	if old := d.watches[of]; old != nil {
		close(old.over)
	}
	d.watches[of] = w
	d.mu.Unlock()
	if s := d.latest(req); s != nil {
		s.takes(w, req)
	}
	return func() {
		d.mu.Lock()
		if d.watches[of] == w {
			delete(d.watches, of)
		}
		d.mu.Unlock()
		for _, s := range d.all() {
			s.loses(w)
		}
	}
}

// latest returns the session that a client's process has, nil where no hook has told of it yet.
func (d *Daemon) latest(req local.Request) (found *session) {
	var seen time.Time
	for _, s := range d.all() {
		s.mu.Lock()
		here := s.st.Connection == req.Connection && !s.dead && !s.st.Ended &&
			(s.st.Process == req.Process || s.thread == req.Call.Thread)
		if here && (found == nil || s.st.Seen.After(seen)) {
			found, seen = s, s.st.Seen
		}
		s.mu.Unlock()
	}
	return found
}

// follows gives the session of a hook the process that watches for its client. The caller holds the session.
func (s *session) follows(call hook.Call) {
	if call.PID == 0 || call.Kind == hook.End {
		return
	}
	s.daemon.mu.Lock()
	w := s.daemon.watches[watched{s.st.Connection, call.PID}]
	s.daemon.mu.Unlock()
	if w != nil && s.waker() != w {
		s.replace(w)
	}
}
