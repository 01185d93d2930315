package connectd

import (
	"context"
	"errors"
	"time"

	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/shared/hook/wire"
)

// The times of the wait for all sessions of a key.
const (
	waitFor    = 50 * time.Second
	waitMore   = 15 * time.Second // for an answer that is on its way
	backoff    = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
	refused    = time.Minute
	// gather is the time that changes of the sessions have to come together.
	gather = 20 * time.Millisecond
)

// hub is a server as one key sees it, with one wait for all sessions.
type hub struct {
	*remote.Hub
	daemon *Daemon
	name   string
	anew   chan struct{}
}

// watch waits for changes until the daemon ends.
func (h *hub) watch() {
	pause := backoff
	for h.daemon.ctx.Err() == nil {
		in, by := h.waitedFor()
		if len(in) == 0 {
			select {
			case <-h.anew:
			case <-h.daemon.ctx.Done():
			}
			continue
		}
		out, err, stirred := h.once(in)
		switch {
		case stirred:
			h.sleep(gather, false)
		case err != nil && h.daemon.ctx.Err() == nil:
			for _, s := range by {
				s.trouble(err)
			}
			h.sleep(pause, true)
			if pause = min(2*pause, maxBackoff); isRefusal(err) {
				h.sleep(refused, true)
			}
		case err == nil:
			pause = backoff
			for _, c := range out.Sessions {
				if s := by[c.SessionID]; s != nil {
					s.told(c)
				}
			}
		}
	}
}

func isRefusal(err error) bool {
	var e *remote.Error
	return errors.As(err, &e) && e.Refused()
}

// sleep waits for a time, or until the sessions change where that counts.
func (h *hub) sleep(d time.Duration, anew bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	var stir chan struct{}
	if anew {
		stir = h.anew
	}
	select {
	case <-t.C:
	case <-stir:
	case <-h.daemon.ctx.Done():
	}
}

// once makes one wait. It reports whether it ended because the sessions changed.
func (h *hub) once(in []wire.WaitedFor) (out wire.WaitOutput, err error, stirred bool) {
	ctx, cancel := context.WithTimeout(h.daemon.ctx, waitFor+waitMore)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	changed := make(chan bool, 1)
	go func() {
		select {
		case <-h.anew:
			changed <- true
			cancel()
		case <-done:
			changed <- false
		}
	}()
	out, err = h.Wait(ctx, wire.WaitInput{Sessions: in, WaitMs: int(waitFor.Milliseconds())})
	if err != nil {
		select {
		case stirred = <-changed:
		default:
		}
	}
	return out, err, stirred
}

// waitedFor returns the input of a wait, and its sessions by their addresses.
func (h *hub) waitedFor() ([]wire.WaitedFor, map[string]*session) {
	var in []wire.WaitedFor
	by := map[string]*session{}
	for _, s := range h.daemon.all() {
		address, since, ok := s.waits(h)
		if ok && by[address] == nil && len(in) < wire.MaxSessions {
			in, by[address] = append(in, wire.WaitedFor{SessionID: address, Since: since}), s
		}
	}
	return in, by
}
