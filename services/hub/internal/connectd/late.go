package connectd

import (
	"context"
	"errors"
	"net/http"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

// lateFor is the time after which the record of a session that has ended is read once more: Claude Code writes the dollars after
// the hook of the end. lateAge is the time for which a daemon reads what one before did not.
const (
	lateFor = 2 * time.Second
	lateAge = 7 * 24 * time.Hour
)

// late is the usage of a session that has ended, which the server is yet to be told. It is on the disk until it has been, so that
// the next daemon does what one that ends leaves.
type late struct {
	Connection string         `json:"connection"`
	Path       string         `json:"path"`
	From       usage.Position `json:"from"`
	Input      wire.HookInput `json:"input"`
	Since      time.Time      `json:"since"`
}

// leaves notes what the client may yet write into the session's record, nil where it writes nothing. The caller holds the session.
func (s *session) leaves() *late {
	if s.st.Transcript == "" || s.st.SessionID == "" || s.st.Client != "claude" {
		return nil
	}
	l := &late{Connection: s.st.Connection, Path: s.st.Transcript, From: s.st.Usage, Input: s.st.Input(hook.Call{}, wire.End, 0),
		Since: s.daemon.Now()}
	l.Input.Receipt = ""
	if err := s.daemon.late.Save(s.id, l); err != nil {
		s.daemon.log("what %s uses at last is not noted: %v", s.st.SessionID, err)
	}
	return l
}

// resumeLate takes up what daemons before have left.
func (d *Daemon) resumeLate() {
	for _, id := range d.late.All() {
		var l late
		if !d.late.Load(id, &l) || d.Now().Sub(l.Since) > lateAge {
			d.late.Remove(id)
			continue
		}
		d.lately(id, &l, false)
	}
}

// lately reports what the client writes into a session's record after its end, when it had the time to, or at once where the daemon
// ends; then the next daemon looks again. A session that was taken up meanwhile reports it by itself.
func (d *Daemon) lately(id string, l *late, waits bool) {
	d.mu.Lock()
	d.conns++
	d.mu.Unlock()
	d.work.Go(func() {
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.conns--
		}()
		whole := true
		if waits {
			select {
			case <-d.After(lateFor):
			case <-d.ctx.Done():
				whole = false
			}
		}
		if err := d.tellLate(id, l); err != nil {
			d.log("what %s used at last is told by the next daemon: %v", l.Input.SessionID, err)
		} else if whole {
			d.late.Remove(id)
		}
	})
}

// tellLate tells the server what a record has since the last reading. An error means that it is to be tried again.
func (d *Daemon) tellLate(id string, l *late) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), lastFor)
	defer cancel()
	for !d.has(id) {
		records, next, err := usage.Read(l.Input.Client, l.Path, l.From, wire.MaxUsage)
		if err != nil || len(records) == 0 {
			return nil // without a record there is nothing to tell
		}
		c, err := connection.Read(d.place.Connections, l.Connection)
		if err != nil {
			return nil // it was removed
		}
		h, err := d.reach(ctx, c)
		if err != nil {
			return err
		}
		in := l.Input
		in.Usage = records
		_, err = h.Hook(ctx, in)
		var e *remote.Error
		switch {
		case err == nil, errors.As(err, &e) && e.Status == http.StatusOK: // there is no session any more, and the usage is in the ledger
		case isRefusal(err):
			d.log("what %s used at last was not taken: %v", in.SessionID, err)
			return nil
		default:
			return err
		}
		l.From = next
		if err := d.late.Save(id, l); err != nil {
			return err // it is told twice, and counted once
		}
	}
	return nil
}

// has reports whether a session goes on.
func (d *Daemon) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[id] != nil
}
