package mcp

import (
	"encoding/json"
	"sync"

	"parley.internal/shared/identity"
)

// waiting are the tool calls in flight, by their caller's key and their id. Several may have the same id, since callers
// choose ids and there are no sessions.
type waiting struct {
	mu    sync.Mutex
	calls map[inFlight]map[chan struct{}]bool
}

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

// end ends the waits of a caller's calls with the id.
func (w *waiting) end(c identity.Caller, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := inFlight{c.User, c.KeyID, id}
	for ch := range w.calls[name] {
		close(ch)
	}
	delete(w.calls, name)
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
