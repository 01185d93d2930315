package balancer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// backend is a server that answers with its name and can be made unhealthy.
type backend struct {
	name      string
	unhealthy atomic.Bool
	posts     atomic.Int64
	url       string
	stop      func()
}

func newBackend(t *testing.T, name string) *backend {
	t.Helper()
	b := &backend{name: name}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case b.unhealthy.Load():
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/drop":
			b.posts.Add(1)
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, name+" "+r.Host)
		}
	}))
	b.url, b.stop = s.URL, sync.OnceFunc(s.Close)
	t.Cleanup(b.stop)
	return b
}

func balanced(t *testing.T, backends ...*backend) (*Balancer, string) {
	t.Helper()
	b := New()
	front, stop, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for _, s := range backends {
		if err := b.Add(s.name, s.url); err != nil {
			t.Fatal(err)
		}
	}
	waitUp(t, b, len(backends))
	return b, front
}

// waitUp waits until n servers are in the rotation.
func waitUp(t *testing.T, b *Balancer, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := b.await(ctx, func(up int) bool { return up == n }); err != nil {
		t.Fatalf("want %d servers: %v", n, err)
	}
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func call(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k") // with this header net/http may repeat a request
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestHealthyServersTakeTurns(t *testing.T) {
	t.Parallel()
	one, two := newBackend(t, "one"), newBackend(t, "two")
	b, url := balanced(t, one, two)
	turns := func() (out string) {
		for range 4 {
			res, text := call(t, "POST", url)
			name, host, _ := strings.Cut(text, " ")
			if res.Header.Get(ServedBy) == name && strings.HasPrefix(host, "127.0.0.1") {
				out += name + " "
			}
		}
		return out
	}
	if got := turns(); got != "one two one two " && got != "two one two one " {
		t.Errorf("served by %s", got)
	}
	one.unhealthy.Store(true)
	waitUp(t, b, 1)
	if got := turns(); got != "two two two two " {
		t.Errorf("with one unhealthy, served by %s", got)
	}
	one.unhealthy.Store(false)
	waitUp(t, b, 2)
	b.Remove("two")
	if got := turns(); got != "one one one one " {
		t.Errorf("with two removed, served by %s", got)
	}
}

func TestWithoutAHealthyServerTheBalancerAnswers503(t *testing.T) {
	t.Parallel()
	one := newBackend(t, "one")
	b, url := balanced(t, one)
	one.unhealthy.Store(true)
	waitUp(t, b, 0)
	if res, _ := call(t, "POST", url); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get(Header) == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}

func TestACallGoesToOneServerOnce(t *testing.T) {
	t.Parallel()
	one, two := newBackend(t, "one"), newBackend(t, "two")
	_, url := balanced(t, one, two)
	for range 3 {
		call(t, "POST", url) // so that there are idle connections
	}
	if res, _ := call(t, "POST", url+"/drop"); res.StatusCode != http.StatusBadGateway || res.Header.Get(Header) == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if n := one.posts.Load() + two.posts.Load(); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

func TestAServerThatIsGoneFailsOneCallAtMost(t *testing.T) {
	t.Parallel()
	one, two := newBackend(t, "one"), newBackend(t, "two")
	_, url := balanced(t, one, two)
	two.stop()
	failed := 0
	for range 10 {
		if res, _ := call(t, "POST", url); res.StatusCode != http.StatusOK {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d of ten calls failed, want one at most", failed)
	}
}

func TestALostAnswerIsNoFaultOfTheServer(t *testing.T) {
	t.Parallel()
	one := newBackend(t, "one")
	b := New()
	var lose atomic.Bool
	b.Lose = lose.Load
	front := httptest.NewServer(b)
	t.Cleanup(func() { front.Close(); b.Close() })
	if err := b.Add(one.name, one.url); err != nil {
		t.Fatal(err)
	}
	waitUp(t, b, 1)
	for _, want := range []int{502, 200, 502, 200} {
		lose.Store(want == 502)
		if res, _ := call(t, "POST", front.URL); res.StatusCode != want {
			t.Errorf("%d, want %d", res.StatusCode, want)
		}
	}
}
