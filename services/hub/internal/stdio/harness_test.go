package stdio_test

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

const secret = "parley_user_secret"

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// client is the program on the other end of a bridge's pipe.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
	stop  context.CancelFunc

	mu     sync.Mutex
	errs   bytes.Buffer
	pauses []time.Duration
	onNap  func(nap int)
}

func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs.Write(p)
}

func (c *client) troubles() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs.String()
}

// naps are the pauses that the bridge made; none of them took time.
func (c *client) naps() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.pauses...)
}

func (c *client) nap(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.pauses = append(c.pauses, d)
	n, call := len(c.pauses), c.onNap
	c.mu.Unlock()
	if call != nil {
		call(n)
	}
	return ctx.Err()
}

// dial runs a bridge to the URL; change may set more of it, and a hook of the clock.
func dial(t *testing.T, url string, change func(*stdio.Bridge, *client)) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan string, 100), ended: make(chan error, 1)}
	b := &stdio.Bridge{URL: url, Key: secret, In: inR, Out: outW, Err: c, Sleep: c.nap}
	if change != nil {
		change(b, c)
	}
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	go func() {
		for s := bufio.NewScanner(outR); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	go func() {
		err := b.Run(ctx)
		_ = outW.Close()
		c.ended <- err
	}()
	t.Cleanup(func() {
		stop()
		_ = inW.Close()
		_ = outR.Close()
	})
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() string {
	c.t.Helper()
	select {
	case l := <-c.lines:
		return l
	case <-time.After(patience):
		c.t.Fatalf("no answer came; the bridge said %q", c.troubles())
		return ""
	}
}

type answer struct {
	ID    any
	Error struct {
		Code    int
		Message string
	}
	Result json.RawMessage
}

func (c *client) answer() answer {
	c.t.Helper()
	var a answer
	text := c.next()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.t.Fatalf("%q: %v", text, err)
	}
	return a
}

// ends closes the pipe and wants the bridge to end without a further line.
func (c *client) ends() {
	c.t.Helper()
	_ = c.in.Close()
	if err := c.end(); err != nil {
		c.t.Errorf("the bridge ended with %v", err)
	}
	select {
	case l := <-c.lines:
		c.t.Errorf("one line too many: %s", l)
	default:
	}
}

func (c *client) end() error {
	c.t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		c.t.Fatal("the bridge did not end")
		return nil
	}
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if strings.Contains(text, secret) {
		t.Errorf("%q gives the key away", text)
	}
}

// post is a POST that a server got.
type post struct {
	header http.Header
	body   string
	method string
	id     json.RawMessage
}

// host serves POSTs by a function, and health as up; it counts both.
type host struct {
	*httptest.Server
	mu     sync.Mutex
	posts  []post
	probes int
	down   bool
}

func serve(t *testing.T, handle func(n int, p post, w http.ResponseWriter, r *http.Request)) *host {
	t.Helper()
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if r.Method == http.MethodGet && r.URL.Path == "/v1/health" {
			h.probes++
			if h.down {
				w.WriteHeader(http.StatusServiceUnavailable)
			} else {
				_, _ = io.WriteString(w, `{"success":true,"data":{"status":"ok"},"meta":{}}`)
			}
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		p := post{header: r.Header, body: string(body)}
		var m struct {
			Method string
			ID     json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		p.method, p.id = m.Method, m.ID
		h.mu.Lock()
		h.posts = append(h.posts, p)
		n := len(h.posts)
		h.mu.Unlock()
		handle(n, p, w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *host) got() []post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]post(nil), h.posts...)
}

func (h *host) mcp() string { return h.URL + "/mcp" }

// reply answers as an MCP server does.
func reply(w http.ResponseWriter, p post, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(p.id)+`,"result":`+result+"}")
}

// hangUp breaks the connection off without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
