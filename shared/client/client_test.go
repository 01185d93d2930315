package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
)

const testKey = "parley_u_secret"

// server answers with the given answers in turn, the last one again and again, and keeps its requests.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	answers []http.HandlerFunc
	asked   []asked
}

type asked struct {
	line   string // method, path with query, and body
	header http.Header
}

func newServer(t *testing.T, answers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		answer := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		s.asked = append(
			s.asked,
			asked{strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body)), r.Header.Clone()},
		)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]asked{}, s.asked...)
}

// says answers with a status, a body and headers.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have left
	}
}

func faults(kind fault.Kind, headers ...string) http.HandlerFunc {
	return says(
		kind.HTTP(),
		fmt.Sprintf(`{"success":false,"error":{"code":%q,"message":"no","details":[]},"meta":{}}`, kind.Code()),
		headers...)
}

// drops takes the request and closes the connection without an answer.
func drops(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

var succeeds = says(200, `{"success":true,"data":{"taskId":"t1"},"meta":{"timestamp":"2026-01-02T03:04:05Z"}}`)

// clock is a time that passes by sleeping alone.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.pass(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// nowhere is the URL of a port at which no server listens. That of a server that was closed may be another test's by then.
const nowhere = "http://127.0.0.1:1"

// newClient is a client whose clock is the test's and whose pauses are never shortened.
func newClient(t *testing.T, url string, options ...Option) (*Client, *clock) {
	t.Helper()
	k := &clock{at: time.Now()}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(
		url,
		testKey,
		append([]Option{WithHTTPClient(&http.Client{Transport: transport}), WithClock(k.now, k.sleep),
			func(c *Client) { c.jitter = func() float64 { return 0 } }}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, k
}

func TestTheBaseIsFoundInEveryURLOfAServer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://127.0.0.1:3001/mcp":               "http://127.0.0.1:3001",
		"http://127.0.0.1:3001":                   "http://127.0.0.1:3001",
		"http://127.0.0.1:3001/":                  "http://127.0.0.1:3001",
		"http://[::1]:3001/v1/mcp":                "http://[::1]:3001",
		"https://p.example/mcp/readonly?toolsets": "https://p.example",
		"https://p.example/v1":                    "https://p.example",
		"https://p.example/of/parley/mcp/":        "https://p.example/of/parley",
		"https://p.example/a%2Fb/v1/":             "https://p.example/a%2Fb",
		"":                                        "",
		"127.0.0.1:3001":                          "",
		"localhost:3001":                          "",
		"ftp://p.example":                         "",
		"http:///mcp":                             "",
		"http://user:secret@p.example":            "",
	} {
		got, err := BaseURL(in)
		if got != want || (err == nil) != (want != "") || (err != nil && strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
		c, err := New(in, testKey)
		if (err == nil) != (want != "") || (err == nil && c.Base() != want) {
			t.Errorf("%q: a client of it: %v", in, err)
		}
	}
}

func TestARequestCarriesItsHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, faults(fault.Conflict), succeeds)
	c, _ := newClient(t, s.URL, WithUserAgent("bench/1"), WithSession("alpha/2"),
		WithRequestID(func() string { return "call" }))
	if _, err := c.CreateTask(t.Context(), dispatch.CreateInput{Title: "t", Target: "any"}); err != nil {
		t.Fatal(err)
	}
	got := s.requests()
	for n, r := range got {
		for name, want := range map[string]string{
			"Authorization": "Bearer " + testKey, "Content-Type": "application/json",
			"Accept": "application/json", "User-Agent": "bench/1", "X-Parley-Session": "alpha/2",
			"X-Request-Id": []string{"call", "call.2"}[n]} {
			if r.header.Get(name) != want {
				t.Errorf("attempt %d: %s is %q, want %q", n+1, name, r.header.Get(name), want)
			}
		}
	}
	if len(got) != 2 {
		t.Errorf("%d attempts, want 2", len(got))
	}
	anonymous := newServer(t, says(200, `{"success":true,"data":{"status":"ok","version":"v"},"meta":{}}`))
	c, _ = newClient(t, anonymous.URL)
	h, err := c.Health(t.Context())
	if err != nil || h.Status != "ok" || h.Version != "v" {
		t.Errorf("health: %+v, %v", h, err)
	}
	if r := anonymous.requests()[0]; r.line != "GET /v1/health" || len(r.header["Authorization"]) != 0 {
		t.Errorf("health asked %q with %v", r.line, r.header)
	}
}

func TestARedirectIsNotFollowedWithTheKey(t *testing.T) {
	t.Parallel()
	elsewhere := newServer(t, succeeds)
	s := newServer(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP)
	c, _ := newClient(t, s.URL)
	_, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"})
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusTemporaryRedirect || e.Code != "" ||
		len(elsewhere.requests()) != 0 {
		t.Errorf("got %+v, %d requests elsewhere", err, len(elsewhere.requests()))
	}
}

func TestAnObserverIsToldOfEveryAttempt(t *testing.T) {
	t.Parallel()
	s := newServer(t, faults(fault.Unavailable), succeeds)
	var told []Attempt
	c, _ := newClient(
		t,
		s.URL,
		WithRequestID(func() string { return "r" }),
		WithObserver(func(_ context.Context, a Attempt) { told = append(told, a) }),
	)
	if _, err := c.GetTask(t.Context(), dispatch.TaskInput{TaskID: "a"}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0].Err == nil ||
		told[0].Err.Status != 503 || told[0].RequestID != "r" || told[1].RequestID != "r.2" ||
		told[1].Err != nil || told[1].Number != 2 ||
		told[1].ServerTime.Year() != 2026 || told[1].Header == nil || told[1].Operation != "get_task" ||
		told[1].Began.Before(told[0].Ended) {
		t.Errorf("got %+v", told)
	}
}

func TestOneClientServesManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, succeeds)
	c, _ := newClient(t, s.URL)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := c.With(
				WithUserAgent("many"),
			).CreateTask(
				t.Context(),
				dispatch.CreateInput{Title: "t", Target: "any"},
			)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys := map[string]bool{}
	for _, r := range s.requests() {
		keys[r.header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 20 {
		t.Errorf("%d keys for 20 calls", len(keys))
	}
}
