package fakemodel

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is a request that a client sent to the model.
type Request struct {
	// Number counts from 1.
	Number int
	At     time.Time
	// Path is /v1/messages or /v1/responses.
	Path   string
	Header http.Header
	Body   []byte
	Model  string
	// Tools are the names of the tools that the model may use; those in a namespace follow it and a slash. A request
	// without tools is the client's own, for a title or a summary: it gets the answer "ok" and no step of the script.
	Tools []string
	// Text is the conversation as the model reads it, the results of tools included, one part after another.
	Text string
}

// Server is a server of both APIs on 127.0.0.1. Close ends it.
type Server struct {
	URL string

	http *httptest.Server
	mu   sync.Mutex
	// steps are those that no request has taken.
	steps    []Step
	requests []Request
	// news is closed and replaced with each request.
	news chan struct{}
}

// New starts a server with a script. Each request takes the first step left that fits it; where none does, the answer
// is "Done.".
func New(steps ...Step) *Server {
	s := &Server{steps: steps, news: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(readMessages, writeMessages))
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 100})
	})
	mux.HandleFunc("POST /v1/responses", s.serve(readResponses, writeResponses))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	})
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close cuts the requests in flight and ends the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add adds steps to the end of the script.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Left returns the number of steps that no request has taken.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// Requests returns the requests so far that carry tools, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await returns the first request with tools that fits, of those that came before too. It waits until ctx ends.
func (s *Server) Await(ctx context.Context, fits func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		i, news := slices.IndexFunc(s.requests, fits), s.news
		var found Request
		if i >= 0 {
			found = s.requests[i]
		}
		s.mu.Unlock()
		if i >= 0 {
			return found, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return Request{}, context.Cause(ctx)
		}
	}
}

// Reads is a condition for Await: the conversation holds all of the texts.
func Reads(texts ...string) func(Request) bool {
	return func(r Request) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(r.Text, text) })
	}
}

// take keeps a request with tools and returns its number and its step.
func (s *Server) take(r Request) (int, Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Number = len(s.requests) + 1
	s.requests = append(s.requests, r)
	close(s.news)
	s.news = make(chan struct{})
	i := slices.IndexFunc(s.steps, func(step Step) bool { return step.When == nil || step.When.Match(r.Body) })
	if i < 0 {
		return r.Number, Say("Done.")
	}
	step := s.steps[i]
	s.steps = slices.Delete(s.steps, i, i+1)
	return r.Number, step
}

// answer is the response of an API: the step's answer to the nth request.
type answer struct {
	step   Step
	number int
	model  string
	stream bool
}

func (s *Server) serve(read func([]byte, *Request) (stream bool, err error), write func(io.Writer, answer) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		req := Request{At: time.Now(), Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
		stream, err := read(body, &req)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError("invalid_request_error", err.Error()))
			return
		}
		a := answer{step: Say("ok"), model: req.Model, stream: stream}
		if len(req.Tools) > 0 {
			a.number, a.step = s.take(req)
		}
		if !a.step.wait(r.Context()) {
			return
		}
		if a.step.Status != 0 {
			writeJSON(w, a.step.Status, apiError("api_error", "scripted error"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_ = write(w, a) // the client may have left
	}
}

// wait holds the answer as the step says. It returns false if the client left.
func (s Step) wait(ctx context.Context) bool {
	timer := time.NewTimer(s.Delay)
	defer timer.Stop()
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func apiError(kind, message string) any {
	return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may have left
}

// event writes one event of a stream.
func event(w io.Writer, kind string, data map[string]any) error {
	data["type"] = kind
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "event: "+kind+"\ndata: "+string(text)+"\n\n")
	return err
}
