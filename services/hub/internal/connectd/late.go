package connectd

import (
	"context"
	"errors"
	"net/http"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

// lateFor is the time after which the record of a session that has ended is read once more: Claude Code writes the dollars after
// the hook of the end.
const lateFor = 2 * time.Second

// late reports what the client writes into the session's record after its end, while the daemon goes on. A session that was taken
// up meanwhile reports it by itself. The caller holds the session, which is dead.
func (s *session) late() {
	d, h, client, path, from := s.daemon, s.hub, s.st.Client, s.st.Transcript, s.st.Usage
	if h == nil || path == "" || s.st.SessionID == "" || client != "claude" {
		return
	}
	in := s.st.Input(hook.Call{}, wire.End, 0)
	in.Receipt = ""
	d.mu.Lock()
	d.conns++
	d.mu.Unlock()
	d.work.Go(func() {
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.conns--
		}()
		select {
		case <-d.After(lateFor):
		case <-d.ctx.Done():
			return
		}
		records, _, err := usage.Read(client, path, from, wire.MaxUsage)
		if err != nil || len(records) == 0 || d.has(s.id) {
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, callFor)
		defer cancel()
		in.Usage = records
		_, err = h.Hook(ctx, in)
		var e *remote.Error
		if errors.As(err, &e) && e.Status == http.StatusOK {
			err = nil // there is no session any more, and the usage is in the ledger
		}
		if err != nil {
			d.log("what %s used at last was not told: %v", in.SessionID, err)
		}
	})
}

// has reports whether a session goes on.
func (d *Daemon) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[id] != nil
}
