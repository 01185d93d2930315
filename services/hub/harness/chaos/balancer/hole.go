package balancer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Hole says where a call vanishes.
type Hole int

// A call vanishes not at all, before a server gets it, or after, with its answer.
const (
	None Hole = iota
	Before
	After
)

// Holes counts the calls whose connections went silent.
type Holes struct {
	// Calls is their number, and Unsent that of those which no server got.
	Calls, Unsent int
	// Dropped is the number of those that are over. LeftByClient and LeftByServer count the connections whose other end was
	// closed when they were dropped.
	Dropped, LeftByClient, LeftByServer int
}

// Holes returns the counts of the calls that [Balancer.Silence] chose.
func (b *Balancer) Holes() Holes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.holes
}

// swallow lets the connections of a call go silent. If sent is true a server gets the call before, whose answer goes
// nowhere. Until the end of the hold neither side gets a byte or the news that the other side has closed.
func (b *Balancer) swallow(w http.ResponseWriter, r *http.Request, s *server, sent bool) {
	var behind net.Conn
	if sent {
		var err error
		if behind, err = b.forward(r, s); err != nil {
			refuse(w, http.StatusBadGateway, s.name+" did not answer")
			return
		}
	}
	front, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // the client has gone
		if behind != nil {
			_ = behind.Close()
		}
		return
	}
	b.mu.Lock()
	if b.holes.Calls++; !sent {
		b.holes.Unsent++
	}
	b.mu.Unlock()
	b.silent.Go(func() { b.hold(front, behind) })
}

// forward sends a call to a server on a connection of its own.
func (b *Balancer) forward(r *http.Request, s *server) (net.Conn, error) {
	conn, err := b.dial(r.Context(), "tcp", s.url.Host)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host = s.url.Scheme, s.url.Host, s.url.Host
	if err := out.Write(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// hold keeps the connections of a call silent until the hold or the balancer ends, and then drops them. behind may be nil.
func (b *Balancer) hold(front, behind net.Conn) {
	timer := time.NewTimer(b.Hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.closed.Done():
	}
	byClient, byServer := drop(front), behind != nil && drop(behind)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holes.Dropped++
	if byClient {
		b.holes.LeftByClient++
	}
	if byServer {
		b.holes.LeftByServer++
	}
}

// drop closes a connection, and reports whether its other end had been closed.
func drop(c net.Conn) (left bool) {
	defer c.Close()
	// What has arrived comes before the end, if that has arrived too.
	if err := c.SetReadDeadline(time.Now().Add(dropPatience)); err != nil {
		return true
	}
	_, err := io.Copy(io.Discard, c)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// dropPatience is the time in which the end of a connection is found, if it has arrived.
const dropPatience = 50 * time.Millisecond

// dialer connects to a server.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)
