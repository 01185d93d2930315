package stdiotest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/stdio"
)

// Secret is the key of a bridge that [Dial] runs.
const Secret = "parley_user_secret"

// Patience is the time that a test waits for an expected event.
const Patience = 10 * time.Second

// Client is the program on the other end of a bridge's pipe.
type Client struct {
	T *testing.T
	// In is the input of the bridge and Lines its output.
	In    io.WriteCloser
	Lines chan string
	// Ended receives the result of the bridge's Run. Stop ends its context.
	Ended chan error
	Stop  context.CancelFunc
	// OnPause is called with the number of each pause, from 1; it may be nil. The change function of [Dial] may set it.
	OnPause func(n int)

	mu      sync.Mutex
	reports bytes.Buffer
	pauses  []time.Duration
}

// Write implements [io.Writer] for the bridge's reports.
func (c *Client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports.Write(p)
}

// Reports returns the bridge's reports so far.
func (c *Client) Reports() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports.String()
}

// Pauses returns the pauses that the bridge asked for. They take no time.
func (c *Client) Pauses() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.pauses...)
}

func (c *Client) pause(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.pauses = append(c.pauses, d)
	n, call := len(c.pauses), c.OnPause
	c.mu.Unlock()
	if call != nil {
		call(n)
	}
	return ctx.Err()
}

// Dial runs a bridge to the URL until the test ends. change may first set fields of the bridge and the client; it may
// be nil.
func Dial(t *testing.T, url string, change func(*stdio.Bridge, *Client)) *Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &Client{T: t, In: inW, Lines: make(chan string, 100), Ended: make(chan error, 1)}
	b := &stdio.Bridge{URL: url, Key: Secret, In: inR, Out: outW, Err: c, Sleep: c.pause}
	if change != nil {
		change(b, c)
	}
	ctx, stop := context.WithCancel(t.Context())
	c.Stop = stop
	go func() {
		for s := bufio.NewScanner(outR); s.Scan(); {
			c.Lines <- s.Text()
		}
	}()
	go func() {
		err := b.Run(ctx)
		_ = outW.Close()
		c.Ended <- err
	}()
	t.Cleanup(func() {
		stop()
		_ = inW.Close()
		_ = outR.Close()
	})
	return c
}

// Send writes lines to the bridge.
func (c *Client) Send(lines ...string) {
	c.T.Helper()
	if _, err := io.WriteString(c.In, strings.Join(lines, "\n")+"\n"); err != nil {
		c.T.Fatal(err)
	}
}

// Next returns the next line of the bridge. The test fails if none arrives in time.
func (c *Client) Next() string {
	c.T.Helper()
	select {
	case l := <-c.Lines:
		return l
	case <-time.After(Patience):
		c.T.Fatalf("no answer came; the bridge said %q", c.Reports())
		return ""
	}
}

// Answer is a JSON-RPC response.
type Answer struct {
	ID    any
	Error struct {
		Code    int
		Message string
	}
	Result json.RawMessage
}

// Answer returns the next line, decoded.
func (c *Client) Answer() Answer {
	c.T.Helper()
	var a Answer
	text := c.Next()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.T.Fatalf("%q: %v", text, err)
	}
	return a
}

// Ends closes the pipe. The test fails if the bridge does not end without an error, or writes another line.
func (c *Client) Ends() {
	c.T.Helper()
	_ = c.In.Close()
	if err := c.End(); err != nil {
		c.T.Errorf("the bridge ended with %v", err)
	}
	select {
	case l := <-c.Lines:
		c.T.Errorf("one line too many: %s", l)
	default:
	}
}

// End waits for the end of the bridge and returns the result of Run.
func (c *Client) End() error {
	c.T.Helper()
	select {
	case err := <-c.Ended:
		return err
	case <-time.After(Patience):
		c.T.Fatal("the bridge did not end")
		return nil
	}
}

// Contains fails the test if the text lacks one of the words or contains [Secret].
func Contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if strings.Contains(text, Secret) {
		t.Errorf("%q gives the key away", text)
	}
}

// Post is a POST request that the server received.
type Post struct {
	Header http.Header
	Body   string
	Method string // of JSON-RPC
	ID     json.RawMessage
}

// Host is a server that records its calls.
type Host struct {
	*httptest.Server
	// Probes is the number of health checks. They are answered with 503 if Down is set.
	Probes int
	Down   bool

	mu    sync.Mutex
	posts []Post
}

// Serve starts a server until the test ends. It answers POSTs with the function, which receives their number, from 1,
// and answers health checks itself.
func Serve(t *testing.T, handle func(n int, p Post, w http.ResponseWriter, r *http.Request)) *Host {
	t.Helper()
	h := &Host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if r.Method == http.MethodGet && r.URL.Path == "/v1/health" {
			h.Probes++
			if h.Down {
				w.WriteHeader(http.StatusServiceUnavailable)
			} else {
				_, _ = io.WriteString(w, `{"success":true,"data":{"status":"ok"},"meta":{}}`)
			}
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		p := Post{Header: r.Header, Body: string(body)}
		var m struct {
			Method string
			ID     json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		p.Method, p.ID = m.Method, m.ID
		h.mu.Lock()
		h.posts = append(h.posts, p)
		n := len(h.posts)
		h.mu.Unlock()
		handle(n, p, w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// Posts returns the POSTs so far.
func (h *Host) Posts() []Post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Post(nil), h.posts...)
}

// MCP returns the URL of the MCP endpoint.
func (h *Host) MCP() string { return h.URL + "/mcp" }

// Reply answers a POST with the result, as an MCP server does.
func Reply(w http.ResponseWriter, p Post, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(p.ID)+`,"result":`+result+"}")
}

// HangUp closes the connection without an answer.
func HangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
