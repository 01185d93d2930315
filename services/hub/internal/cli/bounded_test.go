package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// one is a listener with a single connection.
type one struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *one) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *one) Addr() net.Addr { return &net.TCPAddr{} }

// The client vanishes without a FIN: it sends and reads nothing more.
func TestAConnectionWhoseClientHasVanishedIsClosed(t *testing.T) {
	t.Parallel()
	const wait = 50 * time.Second
	for name, c := range map[string]struct {
		sends string
		reads bool // it takes the answer before it vanishes
		after time.Duration
	}{
		"before its first byte":        {"", false, headerTimeout},
		"in the header":                {"POST / HTTP/1.1\r\nHost:", false, headerTimeout},
		"in the body":                  {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf", false, writeTimeout},
		"during a wait":                {"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", false, writeTimeout},
		"before the answer":            {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", false, writeTimeout},
		"after an answer, without FIN": {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true, idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/wait" {
						time.Sleep(wait)
					}
					if _, err := io.Copy(io.Discard, r.Body); err == nil {
						_, _ = w.Write(make([]byte, 1<<20))
					}
				}))
				closed := make(chan struct{})
				server.ConnState = func(_ net.Conn, s http.ConnState) {
					if s == http.StateClosed {
						close(closed)
					}
				}
				l := &one{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
				var served sync.WaitGroup
				served.Go(func() {
					if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
						t.Error(err)
					}
				})
				client, conn := net.Pipe()
				l.conn <- conn
				began := time.Now()
				if _, err := io.WriteString(client, c.sends); err != nil {
					t.Fatal(err)
				}
				if c.reads {
					go func() { _, _ = io.CopyN(io.Discard, client, 1<<20) }()
				}
				<-closed
				if took := time.Since(began); took > c.after+time.Second {
					t.Errorf("it was closed after %v, want %v", took, c.after)
				}
				_ = client.Close()
				_ = server.Close()
				served.Wait()
			})
		})
	}
}
