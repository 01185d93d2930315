package ntfytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Message is a message of a topic.
type Message struct {
	ID         string   `json:"id"`
	Event      string   `json:"event"`
	Topic      string   `json:"topic"`
	SequenceID string   `json:"sequence_id,omitempty"`
	Title      string   `json:"title,omitempty"`
	Message    string   `json:"message"`
	Priority   int      `json:"priority,omitempty"`
	Click      string   `json:"click,omitempty"`
	Actions    []Action `json:"actions,omitempty"`
}

// Action is a button of a message.
type Action struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// Press makes the request of the ntfy app when a person presses a button of the kind http, and returns the status.
func (a Action) Press(t testing.TB) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), a.Method, a.URL, strings.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range a.Headers {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Server is an ntfy server. It is safe for concurrent use.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	topics   map[string][]Message
	tokens   map[string]string // by topic
	statuses []Status
	changed  chan struct{}
	ended    chan struct{}
}

// Status is an answer other than 200 to one message, with a Retry-After header if After is not empty.
type Status struct {
	Code  int
	After string
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{topics: map[string][]Message{}, tokens: map[string]string{}, changed: make(chan struct{}),
		ended: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended)
		s.Close()
	})
	return s
}

// Protect makes a topic demand a token.
func (s *Server) Protect(topic, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[topic] = token
}

// Refuse sets the answers to the next messages.
func (s *Server) Refuse(statuses ...Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = statuses
}

// Messages returns all messages of a topic.
func (s *Server) Messages(topic string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.topics[topic]...)
}

// Publish publishes a text to a topic.
func (s *Server) Publish(topic, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(Message{Topic: topic, Message: text})
}

func (s *Server) add(m Message) {
	m.ID, m.Event = fmt.Sprintf("m%d", len(s.topics[m.Topic])+1), "message"
	s.topics[m.Topic] = append(s.topics[m.Topic], m)
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.follow(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	m := Message{Topic: strings.Trim(r.URL.Path, "/"), Message: string(body)}
	if m.Topic == "" && err == nil {
		err = json.Unmarshal(body, &m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil || m.Topic == "":
		w.WriteHeader(http.StatusBadRequest)
	case !s.admits(m.Topic, r):
		w.WriteHeader(http.StatusForbidden)
	case len(s.statuses) > 0:
		refusal := s.statuses[0]
		s.statuses = s.statuses[1:]
		w.Header().Set("Retry-After", refusal.After)
		w.WriteHeader(refusal.Code)
	default:
		s.add(m)
	}
}

func (s *Server) admits(topic string, r *http.Request) bool {
	token := s.tokens[topic]
	return token == "" || r.Header.Get("Authorization") == "Bearer "+token
}

// follow serves the messages of a topic after the one with the ID since, as they come.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	topic, ok := strings.CutSuffix(strings.Trim(r.URL.Path, "/"), "/json")
	s.mu.Lock()
	admitted := s.admits(topic, r)
	s.mu.Unlock()
	if !ok || !admitted {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	out := json.NewEncoder(w)
	_ = out.Encode(Message{Event: "open", Topic: topic})
	sent, since := 0, r.URL.Query().Get("since")
	for {
		s.mu.Lock()
		list, changed := s.topics[topic], s.changed
		s.mu.Unlock()
		if sent == 0 && since != "all" {
			for i, m := range list {
				if m.ID == since {
					sent = i + 1
				}
			}
		}
		for ; sent < len(list); sent++ {
			_ = out.Encode(list[sent])
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
	}
}
