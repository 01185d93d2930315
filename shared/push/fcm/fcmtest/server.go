package fcmtest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
)

// TB is what a test lends to its server: a word when it is over. A [testing.T] has it.
type TB interface{ Cleanup(func()) }

// Server is a stand-in for FCM on 127.0.0.1 and a free port. It may be used by many at once.
type Server struct {
	url string

	mu       sync.Mutex
	messages []Message
	replies  map[string]Reply
	holds    []*hold
	came     chan struct{} // closed and made anew when a message comes
}

type hold struct {
	tokens   []string
	released chan struct{}
	release  func()
}

// New is a server that runs until the test is over.
func New(tb TB) *Server {
	s := &Server{replies: map[string]Reply{}, came: make(chan struct{})}
	web := httptest.NewServer(&Handler{OnMessage: s.add, Respond: s.respond})
	s.url = web.URL
	tb.Cleanup(func() {
		s.mu.Lock()
		for _, h := range s.holds {
			h.release()
		}
		s.mu.Unlock()
		web.Close()
	})
	return s
}

// Endpoint is the base URL to give to the client.
func (s *Server) Endpoint() string { return s.url + "/v1" }

// Messages are the messages that have come, in their order; those that were answered with an error too, each time that
// the client tried, and no dry runs.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Wait is [Server.Messages] once there are at least n of them. It is an error if ctx is ended before.
func (s *Server) Wait(ctx context.Context, n int) ([]Message, error) {
	for {
		s.mu.Lock()
		all, came := slices.Clone(s.messages), s.came
		s.mu.Unlock()
		if len(all) >= n {
			return all, nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return all, fmt.Errorf("%d of %d messages came: %w", len(all), n, context.Cause(ctx))
		}
	}
}

// Answer sets what is answered to the token from now on: an HTTP status, and FCM's name of the error or nothing. An
// empty token stands for all that have no answer of their own. With 200 messages are taken again.
func (s *Server) Answer(token string, status int, errorCode string) {
	reply := Reply{Status: status, Code: errorCode}
	if status == 200 {
		reply = Reply{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[token] = reply
}

// Hold keeps back the answers to messages that come from now on for the tokens, or for any token where none is named,
// until release is called or the test is over. What is answered is settled when the answer is sent.
func (s *Server) Hold(tokens ...string) (release func()) {
	h := &hold{tokens: tokens, released: make(chan struct{})}
	h.release = sync.OnceFunc(func() { close(h.released) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	return h.release
}

func (s *Server) add(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
	close(s.came)
	s.came = make(chan struct{})
}

func (s *Server) respond(ctx context.Context, m Message) Reply {
	s.mu.Lock()
	holds := slices.Clone(s.holds)
	s.mu.Unlock()
	for _, h := range holds {
		if len(h.tokens) > 0 && !slices.Contains(h.tokens, m.Token) {
			continue
		}
		select {
		case <-h.released:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply, ok := s.replies[m.Token]; ok {
		return reply
	}
	return s.replies[""]
}
