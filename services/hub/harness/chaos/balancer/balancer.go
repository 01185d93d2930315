package balancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// Header marks an answer that the balancer gives in place of a server.
	Header = "X-Balancer"
	// ServedBy is the header with the name of the server that answered.
	ServedBy = "X-Served-By"

	// checkInterval is the interval of the health checks of a server, and checkTimeout bounds each of them.
	checkInterval = 100 * time.Millisecond
	checkTimeout  = 5 * time.Second
)

// Balancer is an http.Handler in front of servers. Create it with [New]. It is safe for concurrent use.
type Balancer struct {
	// Lose is called for each answer of a server and decides whether it is lost, as in an unreliable network; the client
	// gets a 502 instead. Nil loses none. It must be set before the first call and be safe for concurrent use.
	Lose func() bool
	// Silence is called for each call and chooses those whose connections go silent in both directions, on both sides of
	// the balancer, as if all packets vanished: before a server gets the call, or after. They stay open for the time Hold
	// and are dropped then. Nil chooses none. Both must be set before the first call, and Silence be safe for concurrent use.
	Silence func(*http.Request) Hole
	Hold    time.Duration

	transport *http.Transport
	proxy     *httputil.ReverseProxy

	mu      sync.Mutex
	servers []*server
	next    int
	changed chan struct{} // closed and replaced when a server enters or leaves the rotation
	holes   Holes

	dial   dialer
	silent sync.WaitGroup // of the calls that were chosen
	closed context.Context
	close  context.CancelFunc
}

type server struct {
	name   string
	url    *url.URL
	up     bool
	cancel context.CancelFunc
	done   chan struct{}
}

type chosenKey struct{}

var errLost = errors.New("the answer was lost")

// New returns a balancer without servers.
func New() *Balancer {
	return newBalancer(new(net.Dialer).DialContext)
}

func newBalancer(dial dialer) *Balancer {
	b := &Balancer{transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true, DialContext: dial},
		changed: make(chan struct{}), dial: dial}
	b.closed, b.close = context.WithCancel(context.Background())
	b.proxy = &httputil.ReverseProxy{Transport: b.transport, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(r.In.Context().Value(chosenKey{}).(*server).url)
		},
		ModifyResponse: func(r *http.Response) error {
			if b.Lose != nil && b.Lose() {
				return errLost
			}
			r.Header.Set(ServedBy, r.Request.Context().Value(chosenKey{}).(*server).name)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			s := r.Context().Value(chosenKey{}).(*server)
			if r.Context().Err() == nil && !errors.Is(err, errLost) { // otherwise the server is not to blame
				b.set(s, false) // until its next health check succeeds
			}
			refuse(w, http.StatusBadGateway, s.name+" did not answer")
		}}
	return b
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set(Header, why)
	w.WriteHeader(status)
}

// ServeHTTP forwards the call to the next healthy server. It answers 503 if there is none, and 502 if the server does
// not answer.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := b.choose()
	if s == nil {
		refuse(w, http.StatusServiceUnavailable, "no server is up")
		return
	}
	if b.Silence != nil {
		if hole := b.Silence(r); hole != None {
			b.swallow(w, r, s, hole == After)
			return
		}
	}
	b.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chosenKey{}, s)))
}

func (b *Balancer) choose() *server {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.servers {
		b.next = (b.next + 1) % len(b.servers)
		if s := b.servers[b.next]; s.up {
			return s
		}
	}
	return nil
}

func (b *Balancer) set(s *server, up bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.up != up {
		s.up = up
		b.changeLocked()
	}
}

func (b *Balancer) changeLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Up returns the number of servers in the rotation.
func (b *Balancer) Up() int {
	n, _ := b.rotation()
	return n
}

// rotation returns the number of servers in the rotation, and a channel that is closed at its next change.
func (b *Balancer) rotation() (up int, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.servers {
		if s.up {
			up++
		}
	}
	return up, b.changed
}

// Await waits until at least n servers are in the rotation.
func (b *Balancer) Await(ctx context.Context, n int) error {
	return b.await(ctx, func(up int) bool { return up >= n })
}

func (b *Balancer) await(ctx context.Context, enough func(up int) bool) error {
	for {
		up, changed := b.rotation()
		if enough(up) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("only %d servers are up: %w", up, context.Cause(ctx))
		}
	}
}

// Add adds a server by its base URL, such as http://127.0.0.1:8080, and starts its health checks.
func (b *Balancer) Add(name, base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{name: name, url: u, cancel: cancel, done: make(chan struct{})}
	b.mu.Lock()
	b.servers = append(b.servers, s)
	b.mu.Unlock()
	go func() {
		defer close(s.done)
		tick := time.NewTicker(checkInterval)
		defer tick.Stop()
		for {
			if up := b.healthy(ctx, s); ctx.Err() == nil {
				b.set(s, up)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (b *Balancer) healthy(ctx context.Context, s *server) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath("/v1/health").String(), nil)
	if err != nil {
		return false
	}
	res, err := b.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close() // the error of reading counts
	return err == nil && res.StatusCode == http.StatusOK
}

// Listen serves on a free port of 127.0.0.1 and returns the base URL. stop ends that, and closes the balancer.
func (b *Balancer) Listen(ctx context.Context) (base string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return "http://" + listener.Addr().String(), b.serve(listener), nil
}

func (b *Balancer) serve(listener net.Listener) (stop func()) {
	srv := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(listener) }) // always ends with ErrServerClosed
	return func() {
		_ = srv.Close() // could only fail to close the listener
		served.Wait()
		b.Close()
	}
}

// Remove removes the server of that name, if there is one. Its calls in flight go on.
func (b *Balancer) Remove(name string) {
	b.mu.Lock()
	i := slices.IndexFunc(b.servers, func(s *server) bool { return s.name == name })
	var gone *server
	if i >= 0 {
		gone = b.servers[i]
		b.servers = slices.Delete(b.servers, i, i+1)
		b.changeLocked()
	}
	b.mu.Unlock()
	if gone != nil {
		gone.cancel()
		<-gone.done
	}
}

// Close removes every server, and closes the idle connections and those that are silent.
func (b *Balancer) Close() {
	b.close()
	b.silent.Wait()
	b.mu.Lock()
	names := make([]string, len(b.servers))
	for i, s := range b.servers {
		names[i] = s.name
	}
	b.mu.Unlock()
	for _, n := range names {
		b.Remove(n)
	}
	b.transport.CloseIdleConnections()
}
