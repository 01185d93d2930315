package browser_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
)

type args = map[string]any

// user is a user of a hub who reads the page.
type user struct {
	*hubtest.User
	t *testing.T
}

func newUser(t *testing.T, o hubtest.Options) *user {
	t.Helper()
	return &user{hubtest.NewUser(t, o), t}
}

// answer returns the status and the answer of a question.
func (u *user) answer(id string) (out struct{ Status, Response string }) {
	u.t.Helper()
	hubtest.Must(u.t, u.Hub.REST(u.Agent, "GET", "/v1/questions/"+id+"/response", nil).Into(&out))
	return out
}

// elsewhere answers a question over REST, without the page.
func (u *user) elsewhere(id, response string) {
	u.t.Helper()
	a := u.Hub.REST(u.Human, "POST", "/v1/questions/"+id+"/answer", args{"response": response})
	hubtest.Must(u.t, a.Into(&struct{}{}))
}

// signedIn returns a tab with the page of a task, signed in by a new link. The server's URL is base.
func (u *user) signedIn(base, id string) *tab {
	u.t.Helper()
	b := newTab(u.t)
	b.open(base + "/q/" + id + "#link=" + u.LinkCode())
	return b
}

// waiting makes the agent wait for the answer to a question, and returns a channel of the result.
func (u *user) waiting(id string) <-chan string {
	got := make(chan string, 1)
	go func() {
		var out struct{ Status, Response string }
		a, err := u.Hub.Try(u.t.Context(), "GET", "/v1/questions/"+id+"/response?waitMs=55000", nil,
			"Authorization", "Bearer "+u.Agent)
		if err == nil {
			err = a.Into(&out)
		}
		if err != nil {
			got <- err.Error()
			return
		}
		got <- out.Status + ": " + out.Response
	}()
	return got
}

// proxy is a server between a browser and a hub, with an origin of its own.
type proxy struct {
	URL   string
	ended chan string // the path of each request that has ended

	mu   sync.Mutex
	rule func(http.ResponseWriter, *http.Request) bool // reports whether it answered
}

// newProxy starts a proxy. The function change, which may be nil, edits each response of the hub.
func newProxy(t *testing.T, hub *hubtest.Hub, change func(*http.Response) error) *proxy {
	t.Helper()
	to, err := url.Parse(hub.URL)
	hubtest.Must(t, err)
	transport := &http.Transport{}
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Accept-Encoding") // the transport unpacks what change edits
		},
		ModifyResponse: change,
		Transport:      transport,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p := &proxy{ended: make(chan string, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { p.ended <- r.URL.Path }()
		p.mu.Lock()
		rule := p.rule
		p.mu.Unlock()
		if rule == nil || !rule(w, r) {
			reverse.ServeHTTP(w, r)
		}
	}))
	p.URL = server.URL
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); transport.CloseIdleConnections() })
	return p
}

// setRule sets the function that may answer a request before the hub does; nil for none.
func (p *proxy) setRule(rule func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// holdWaits delays requests with waitMs until release is called or the test ends, so that the page is not told of
// changes.
func (p *proxy) holdWaits(t *testing.T) (release func()) {
	hold := make(chan struct{})
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	p.setRule(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("waitMs") {
			<-hold
		}
		return false
	})
	return release
}

// awaitEnd waits until a request for a path has ended.
func (p *proxy) awaitEnd(t *testing.T, path string) {
	t.Helper()
	for limit := time.After(patience); ; {
		select {
		case ended := <-p.ended:
			if ended == path {
				return
			}
		case <-limit:
			t.Fatalf("no request for %s ended", path)
		}
	}
}

// dropConnection is a rule that closes the connection without a response.
func dropConnection(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
