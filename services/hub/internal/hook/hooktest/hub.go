package hooktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/hook/wire"
)

// Hub is the server.
type Hub struct {
	*httptest.Server

	mu       sync.Mutex
	changed  chan struct{}
	version  int
	sessions map[string]*session // by address
	receipts map[string][]*message
	wakes    map[string][]wire.Wake
	// Inputs are the calls of hook, and Waits the number of waits.
	inputs []wire.HookInput
	waits  int
	usage  map[string]wire.Usage
	alerts []string
	answer string
	asked  []string
	// taken are the reasons for which questions were taken back, after which the last one is expired.
	taken []string
	gone  bool
	delay time.Duration
	mode  string
	files wire.Files
	// keeps leaves mail a reason to wake when its receipt has come, as if the receipt were on its way.
	keeps bool
	// hold is the time after which unconfirmed mail comes again.
	hold time.Duration
	// hides means that mail is no reason to wake while it waits for its receipt.
	hides bool
	// answers is called before each call of a hook is answered.
	answers func(wire.HookInput)
}

type session struct {
	address, thread string
	since           int
	pause           *wire.Pause
	ended           bool
	inbox           []*message
	claims          []wire.Claim
}

type message struct {
	wire.Mail
	due  time.Time
	done bool
}

// Redeliver is the time after which unconfirmed mail comes again, unless [Hub.HoldFor] sets another.
const Redeliver = 300 * time.Millisecond

// Key is the key of the program claude.
const Key = "parley_test_key"

// New starts a server.
func New(t testing.TB) *Hub {
	t.Helper()
	h := &Hub{changed: make(chan struct{}), sessions: map[string]*session{}, receipts: map[string][]*message{},
		wakes: map[string][]wire.Wake{}, usage: map[string]wire.Usage{}, hold: Redeliver}
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

// KeepReasons leaves mail a reason to wake however its receipt comes, as it is while the receipt is on its way.
func (h *Hub) KeepReasons() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeps = true
}

// BeforeAnswers calls a function with each call of a hook that was carried out, before it is answered.
func (h *Hub) BeforeAnswers(f func(wire.HookInput)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = f
}

// HoldFor sets the time after which unconfirmed mail comes again. Until then it is no reason to wake.
func (h *Hub) HoldFor(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold, h.hides = d, true
}

// reasons returns the reasons to wake a session. The caller holds the hub.
func (h *Hub) reasons(s *session) []wire.Wake {
	return slices.DeleteFunc(slices.Clone(h.wakes[s.address]), func(w wire.Wake) bool {
		return h.hides && slices.ContainsFunc(s.inbox, func(m *message) bool {
			return m.MessageID == w.ID && time.Now().Before(m.due)
		})
	})
}

// Held reports whether a message was given to the hooks of a session.
func (h *Hub) Held(address, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[address]
	return s != nil && slices.ContainsFunc(s.inbox, func(m *message) bool { return m.MessageID == id && !m.due.IsZero() })
}

// Set changes the server: after a delay, or in a mode: "", "silent" (it never answers), "garbage" or "down" (500).
func (h *Hub) Set(mode string, delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mode, h.delay = mode, delay
}

// Files sets the decision about edits.
func (h *Hub) Files(f wire.Files) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files = f
}

// Claim makes a session hold a task.
func (h *Hub) Claim(address string, c wire.Claim) {
	h.update(address, func(s *session) { s.claims = append(s.claims, c) })
}

// Pause halts a session, or lets it go on with nil.
func (h *Hub) Pause(address string, p *wire.Pause) {
	h.update(address, func(s *session) { s.pause = p })
}

// Mail sends a message to a session, with a wake where it is a QUERY.
func (h *Hub) Mail(address, id, kind, text string) {
	h.update(address, func(s *session) {
		s.inbox = append(s.inbox, &message{Mail: wire.Mail{MessageID: id, From: "beta/1", Verified: true, To: address, Type: kind,
			Priority: "normal", Text: text, At: time.Now()}})
		h.wakes[address] = append(h.wakes[address], wire.Wake{ID: id, From: "beta/1", Verified: true, To: address, Kind: kind,
			Summary: text, May: true})
	})
}

func (h *Hub) update(address string, change func(*session)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[address]
	if s == nil {
		s = &session{address: address}
		h.sessions[address] = s
	}
	change(s)
	h.stir(s)
}

// stir tells the waits that a session has changed. The caller holds the hub.
func (h *Hub) stir(s *session) {
	h.version++
	s.since = h.version
	close(h.changed)
	h.changed = make(chan struct{})
}

// Alerts returns the alerts to the person.
func (h *Hub) Alerts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.alerts)
}

// Inputs returns the calls so far.
func (h *Hub) Inputs() []wire.HookInput {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.inputs)
}

// Usage returns the usage by id.
func (h *Hub) Usage() map[string]wire.Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]wire.Usage{}
	for id, u := range h.usage {
		out[id] = u
	}
	return out
}

// Unread returns the number of a session's messages that were not confirmed.
func (h *Hub) Unread(address string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[address]; s != nil {
		n = s.unread()
	}
	return n
}

// Ended reports whether a session has ended.
func (h *Hub) Ended(address string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[address]
	return s != nil && s.ended
}

func (s *session) unread() (n int) {
	for _, m := range s.inbox {
		if !m.done {
			n++
		}
	}
	return n
}

// ServeHTTP implements http.Handler.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	mode, delay := h.mode, h.delay
	h.mu.Unlock()
	time.Sleep(delay)
	switch mode {
	case "silent":
		_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is seen after the body
		<-r.Context().Done()
		return
	case "garbage":
		fmt.Fprint(w, "<html>\x00 login")
		return
	case "down":
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Key {
		h.write(w, http.StatusUnauthorized, map[string]any{"success": false,
			"error": map[string]string{"code": "UNAUTHENTICATED", "message": "no"}})
		return
	}
	data := h.route(r)
	h.write(w, http.StatusOK, map[string]any{"success": true, "data": data})
}

func (h *Hub) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (h *Hub) route(r *http.Request) any {
	body := json.NewDecoder(r.Body)
	switch {
	case r.URL.Path == wire.Route:
		var in wire.HookInput
		_ = body.Decode(&in)
		out := h.hook(in)
		h.mu.Lock()
		answers := h.answers
		h.mu.Unlock()
		if answers != nil {
			answers(in)
		}
		return out
	case r.URL.Path == wire.WaitRoute:
		var in wire.WaitInput
		_ = body.Decode(&in)
		return h.wait(r, in)
	case r.URL.Path == "/v1/alerts":
		var in struct{ Message string }
		_ = body.Decode(&in)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.alerts = append(h.alerts, in.Message)
		return map[string]string{"alertId": "a"}
	case strings.HasPrefix(r.URL.Path, "/v1/questions"):
		return h.question(r, body)
	}
	return nil
}

// find returns the session of a call, which a start makes with the lowest free address.
func (h *Hub) find(in wire.HookInput) *session {
	for _, s := range h.sessions {
		if in.SessionID == s.address && in.SessionID != "" || s.thread == in.Thread && in.Thread != "" {
			return s
		}
	}
	for i := 1; ; i++ {
		address := fmt.Sprintf("claude/%d", i)
		s := h.sessions[address]
		if s == nil {
			s = &session{address: address}
			h.sessions[address] = s
		}
		if s.thread == "" {
			s.thread = in.Thread
			return s
		}
	}
}

func (h *Hub) hook(in wire.HookInput) wire.HookOutput {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inputs = append(h.inputs, in)
	s := h.find(in)
	s.ended = in.Event == wire.End
	for _, m := range h.receipts[in.Receipt] {
		m.done = true
		if h.keeps {
			continue
		}
		h.wakes[s.address] = slices.DeleteFunc(h.wakes[s.address], func(w wire.Wake) bool { return w.ID == m.MessageID })
	}
	if len(h.receipts[in.Receipt]) > 0 {
		delete(h.receipts, in.Receipt)
		h.stir(s)
	}
	for _, u := range in.Usage {
		if _, known := h.usage[u.ID]; !known {
			h.usage[u.ID] = u
		}
	}
	out := wire.HookOutput{Version: 1, SessionID: s.address, Program: "claude", Verified: true, Thread: in.Thread, Pause: s.pause}
	if in.Event == wire.Edit {
		f := h.files
		if f.Verdict == "" {
			f.Verdict = wire.Pass
		}
		out.Files = &f
	}
	if in.Event == wire.Start || in.Event == wire.Resume || in.Event == wire.Compact {
		out.Claims = s.claims
	}
	if s.pause == nil {
		h.deliver(s, in.MaxBytes, &out)
	}
	out.Waiting = wire.Waiting{Mail: s.unread() - len(out.Mail), Held: len(s.claims)}
	for _, m := range s.inbox {
		if !m.done && m.Type == "QUERY" {
			out.Waiting.Urgent++
		}
	}
	out.More = 0
	if in.MaxBytes > 0 {
		out.More = max(0, out.Waiting.Mail)
	}
	return out
}

// deliver takes mail out of an inbox, within a size.
func (h *Hub) deliver(s *session, size int, out *wire.HookOutput) {
	var taken []*message
	for _, m := range s.inbox {
		text, _ := json.Marshal(m.Mail)
		if m.done || time.Now().Before(m.due) || len(text) > size {
			continue
		}
		size -= len(text)
		mail := m.Mail
		mail.Again = !m.due.IsZero()
		m.due = time.Now().Add(h.hold)
		out.Mail, taken = append(out.Mail, mail), append(taken, m)
	}
	if len(taken) > 0 {
		h.version++
		out.Receipt = fmt.Sprintf("r%d", h.version)
		h.receipts[out.Receipt] = taken
		if h.hides {
			h.stir(s)
		}
	}
}
