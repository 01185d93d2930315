package hooktest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/shared/hook/wire"
)

func (h *Hub) wait(r *http.Request, in wire.WaitInput) wire.WaitOutput {
	deadline := time.After(time.Duration(in.WaitMs) * time.Millisecond)
	h.mu.Lock()
	h.waits++
	defer h.mu.Unlock()
	for {
		out := wire.WaitOutput{Version: 1, Sessions: []wire.Changed{}}
		for _, w := range in.Sessions {
			s := h.sessions[w.SessionID]
			if s == nil {
				s = &session{ended: true}
			}
			if since := fmt.Sprint("s", s.since); since != w.Since {
				out.Sessions = append(out.Sessions, wire.Changed{SessionID: w.SessionID, Since: since, Ended: s.ended, Mail: s.unread(),
					Pause: s.pause, Wakes: h.reasons(s)})
			}
		}
		if len(out.Sessions) > 0 {
			return out
		}
		c := h.changed
		h.mu.Unlock()
		over := false
		select {
		case <-c:
		case <-deadline:
			over = true
		case <-r.Context().Done():
			over = true
		}
		h.mu.Lock()
		if over {
			return out
		}
	}
}

// Read reads a session's mail as a hook does that is killed before it writes.
func Read(t testing.TB, h *Hub, thread, address string) wire.HookOutput {
	t.Helper()
	r := &remote.Hub{URL: h.URL, Key: Key}
	out, err := r.Hook(t.Context(), wire.HookInput{Client: "claude", Event: wire.Tool, Thread: thread, SessionID: address,
		MaxBytes: wire.MaxBytes})
	if err != nil || out.Receipt == "" {
		t.Fatalf("no mail: %+v, %v", out, err)
	}
	return out
}
