package balancer

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network in memory with one listener, on which time can pass at once.
type pipes struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accept <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// hole is a balancer whose calls vanish, with a server whose calls last until it sees their connection end.
type hole struct {
	*Balancer
	front *pipes
	began time.Time
	// calls receives the time after which the server saw each connection end.
	calls chan time.Duration
}

func newHole(t *testing.T, where Hole, hold time.Duration, handle http.HandlerFunc) *hole {
	back := newPipes()
	h := &hole{Balancer: newBalancer(back.dial), front: newPipes(), began: time.Now(), calls: make(chan time.Duration, 1)}
	h.Silence, h.Hold = func(*http.Request) Hole { return where }, hold
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			handle(w, r)
			h.calls <- time.Since(h.began)
		}
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(back) })
	stop := h.serve(h.front)
	t.Cleanup(func() {
		stop()
		_ = server.Close()
		served.Wait()
	})
	if err := h.Add("one", "http://one"); err != nil {
		t.Fatal(err)
	}
	if err := h.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return h
}

// call sends a call and returns its connection.
func (h *hole) call(t *testing.T) net.Conn {
	c, err := h.front.dial(t.Context(), "tcp", "front")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: front\r\nContent-Length: 4\r\n\r\nbody"); err != nil {
		t.Fatal(err)
	}
	return c
}

// ends returns the time after which a connection ended, which must be without a byte.
func (h *hole) ends(t *testing.T, c net.Conn) time.Duration {
	text, err := io.ReadAll(c)
	if err != nil || len(text) > 0 {
		t.Errorf("the client got %q, %v", text, err)
	}
	_ = c.Close()
	return time.Since(h.began)
}

const hold = 10 * time.Second

func untilItEnds(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestBothSidesOfASilentConnectionHearNothingUntilItIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHole(t, After, hold, untilItEnds)
		c := h.call(t)
		if client, server := h.ends(t, c), <-h.calls; client < hold || server < hold {
			t.Errorf("the client heard of its end after %v, the server after %v", client, server)
		}
		synctest.Wait()
		if got := h.Holes(); got.Calls != 1 || got.Dropped != 1 || got.Unsent+got.LeftByClient+got.LeftByServer > 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestAServerDoesNotHearThatTheClientOfASilentConnectionHasGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHole(t, After, hold, untilItEnds)
		c := h.call(t)
		time.Sleep(time.Second)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if server := <-h.calls; server < hold {
			t.Errorf("the server heard of it after %v", server)
		}
		synctest.Wait()
		if got := h.Holes(); got.LeftByClient != 1 || got.LeftByServer > 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestAClientDoesNotHearThatTheServerHasClosedASilentConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHole(t, After, hold, func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err != nil || conn.Close() != nil {
				t.Errorf("the server cannot close the connection: %v", err)
			}
		})
		if client := h.ends(t, h.call(t)); client < hold {
			t.Errorf("the client heard of it after %v", client)
		}
		synctest.Wait()
		if got := h.Holes(); <-h.calls >= hold || got.LeftByServer != 1 || got.LeftByClient > 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestACallThatVanishesBeforeReachesNoServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHole(t, Before, hold, untilItEnds)
		if client := h.ends(t, h.call(t)); client < hold {
			t.Errorf("the client heard of its end after %v", client)
		}
		synctest.Wait()
		select {
		case <-h.calls:
			t.Error("the server got the call")
		default:
		}
		if got := h.Holes(); got.Calls != 1 || got.Unsent != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestOtherCallsAreAnsweredMeanwhile(t *testing.T) {
	t.Parallel()
	one := newBackend(t, "one")
	b := New()
	b.Hold = time.Hour
	b.Silence = func(r *http.Request) Hole {
		if r.URL.Path == "/vanish" {
			return After
		}
		return None
	}
	front, stop, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Add(one.name, one.url); err != nil {
		t.Fatal(err)
	}
	waitUp(t, b, 1)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(front, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /vanish HTTP/1.1\r\nHost: front\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for b.Holes().Calls == 0 {
		if res, _ := call(t, "POST", front); res.StatusCode != http.StatusOK {
			t.Errorf("another call got %d", res.StatusCode)
		}
	}
	stop() // drops it
	if text, err := io.ReadAll(bufio.NewReader(conn)); len(text) > 0 {
		t.Errorf("the client got %q, %v", text, err)
	}
}
