package fcmtest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
)

// TB is the part of [testing.TB] that a server needs: it registers a function to be called when the test ends.
type TB interface{ Cleanup(func()) }

// Server is a stand-in for FCM on a free port of 127.0.0.1. It is safe for concurrent use.
type Server struct {
	url string

	mu       sync.Mutex
	messages []Message
	replies  map[string]Reply
	holds    []*hold
	arrived  chan struct{} // closed and replaced when a message arrives
}

type hold struct {
	tokens   []string
	released chan struct{}
	release  func()
}

// New starts a server that runs until the test ends.
func New(tb TB) *Server {
	s := &Server{replies: map[string]Reply{}, arrived: make(chan struct{})}
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

// Endpoint returns the base URL for the client, as in fcm.Options.
func (s *Server) Endpoint() string { return s.url + "/v1" }

// Messages returns the messages so far in the order of arrival. Messages that were answered with an error are included,
// once for each try; dry runs are not.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Wait returns [Server.Messages] as soon as there are at least n of them. If ctx ends before, it returns those so far
// and an error that wraps the cause.
func (s *Server) Wait(ctx context.Context, n int) ([]Message, error) {
	for {
		s.mu.Lock()
		all, arrived := slices.Clone(s.messages), s.arrived
		s.mu.Unlock()
		if len(all) >= n {
			return all, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return all, fmt.Errorf("%d of %d messages arrived: %w", len(all), n, context.Cause(ctx))
		}
	}
}

// Answer sets the reply to later messages for the token: an HTTP status and FCM's error code, which may be empty. An
// empty token stands for all tokens without a reply of their own. The status 200 accepts messages again.
func (s *Server) Answer(token string, status int, errorCode string) {
	reply := Reply{Status: status, Code: errorCode}
	if status == 200 {
		reply = Reply{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[token] = reply
}

// Hold holds back the answers to later messages for the tokens, or for all tokens if none is given, until release is
// called or the test ends. The reply is chosen when the answer is released. release may be called more than once.
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
	close(s.arrived)
	s.arrived = make(chan struct{})
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
