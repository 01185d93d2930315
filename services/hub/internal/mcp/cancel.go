package mcp

import (
	"encoding/json"
	"maps"
	"sync"
	"time"

	"parley.internal/shared/identity"
)

// waiting are the tool calls in flight, by their caller's key and their id. Several may have the same id, since callers
// choose ids and there are no sessions.
type waiting struct {
	mu    sync.Mutex
	calls map[inFlight]map[chan struct{}]bool
	// early are the cancellations that came before their calls, with their times.
	early map[inFlight]time.Time
}

// A cancellation that overtook its call ends it when it comes, within overtaken. No more than maxEarly are kept.
const (
	overtaken = 2 * time.Second
	maxEarly  = 1000
)

// inFlight names a request: the id of a caller's key, and the id of the request as [requestID] returns it.
type inFlight struct{ user, key, id string }

// add registers a call. The channel is closed when a cancellation ends its waits; done must be called at its end.
func (w *waiting) add(c identity.Caller, id json.RawMessage) (end <-chan struct{}, done func()) {
	ch := make(chan struct{})
	name := inFlight{c.User, c.KeyID, requestIDOf(id)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[inFlight]map[chan struct{}]bool{}
	}
	if at, ok := w.early[name]; ok {
		if delete(w.early, name); time.Since(at) < overtaken {
			close(ch)
			return ch, func() {}
		}
	}
	if w.calls[name] == nil {
		w.calls[name] = map[chan struct{}]bool{}
	}
	w.calls[name][ch] = true
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.calls[name], ch)
		if len(w.calls[name]) == 0 {
			delete(w.calls, name)
		}
	}
}

// end ends the waits of a caller's calls with the id. If there is none, the call may be on its way.
func (w *waiting) end(c identity.Caller, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := inFlight{c.User, c.KeyID, id}
	if len(w.calls[name]) == 0 {
		w.keep(name)
		return
	}
	for ch := range w.calls[name] {
		close(ch)
	}
	delete(w.calls, name)
}

// keep keeps a cancellation that came before its call. The caller must hold the lock.
func (w *waiting) keep(name inFlight) {
	if w.early == nil {
		w.early = map[inFlight]time.Time{}
	}
	if len(w.early) >= maxEarly {
		maps.DeleteFunc(w.early, func(_ inFlight, at time.Time) bool { return time.Since(at) >= overtaken })
	}
	if len(w.early) < maxEarly {
		w.early[name] = time.Now()
	}
}

// requestIDOf returns the text that names a request's id: a number and a string of the same digits differ.
func requestIDOf(id json.RawMessage) string {
	var v any
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &v) == nil {
		return requestID(v)
	}
	return requestID(json.Number(id))
}

// requestID returns the text that names the id in the parameters of a cancellation, empty for a value that is no id.
func requestID(v any) string {
	switch x := v.(type) {
	case string:
		return "s" + x
	case json.Number:
		return "n" + x.String()
	}
	return ""
}
