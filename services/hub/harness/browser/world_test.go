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
	"parley.internal/shared/app"
	"parley.internal/shared/store/storetest"
)

type args = map[string]any

// world is a hub with an agent that asks.
type world struct {
	t            *testing.T
	hub          *hubtest.Hub
	agent, human string
}

func newWorld(t *testing.T, o hubtest.Options) *world {
	t.Helper()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), o)
	return &world{t: t, hub: hub, agent: hub.Agent("u", "alpha"), human: hub.Human("u")}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask puts a question, and is its id.
func (w *world) ask(in args) string {
	w.t.Helper()
	var out struct{ QuestionID string }
	must(w.t, w.hub.REST(w.agent, "POST", "/v1/questions", in).Into(&out))
	return out.QuestionID
}

// answer is how a question stands.
func (w *world) answer(id string) (out struct{ Status, Response string }) {
	w.t.Helper()
	must(w.t, w.hub.REST(w.agent, "GET", "/v1/questions/"+id+"/response", nil).Into(&out))
	return out
}

// elsewhere answers a question over REST.
func (w *world) elsewhere(id, response string) {
	w.t.Helper()
	must(w.t, w.hub.REST(w.human, "POST", "/v1/questions/"+id+"/answer", args{"response": response}).Into(&struct{}{}))
}

// code is of a link that nobody opened.
func (w *world) code() string {
	w.t.Helper()
	link, err := w.hub.App.Keys.MakeLink(w.t.Context(), "u")
	must(w.t, err)
	return link.Code
}

// signedIn is a tab with the page of a task, signed in by a link.
func (w *world) signedIn(base, id string) *tab {
	w.t.Helper()
	b := newTab(w.t)
	b.open(base + "/q/" + id + "#link=" + w.code())
	return b
}

// waiting is the answer that an agent gets which waits for it from now on.
func (w *world) waiting(id string) <-chan string {
	got := make(chan string, 1)
	go func() {
		var out struct{ Status, Response string }
		a, err := w.hub.Try(w.t.Context(), "GET", "/v1/questions/"+id+"/response?waitMs=55000", nil, "Authorization", "Bearer "+w.agent)
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

// door stands between a browser and a hub, on an origin of its own.
type door struct {
	URL   string
	ended chan string // the path of each request once it is over

	mu   sync.Mutex
	rule func(http.ResponseWriter, *http.Request) bool // whether it answered
}

func newDoor(t *testing.T, hub *hubtest.Hub, change func(*http.Response) error) *door {
	t.Helper()
	to, err := url.Parse(hub.URL)
	must(t, err)
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: change, Transport: transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	d := &door{ended: make(chan string, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { d.ended <- r.URL.Path }()
		d.mu.Lock()
		rule := d.rule
		d.mu.Unlock()
		if rule == nil || !rule(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	d.URL = server.URL
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); transport.CloseIdleConnections() })
	return d
}

// obey makes the door follow a rule from now on; nil opens it.
func (d *door) obey(rule func(http.ResponseWriter, *http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rule = rule
}

// hush holds what waits for an answer, until it is released or the test ends, so that
// a page hears of nothing that it does not ask for.
func (d *door) hush(t *testing.T) (release func()) {
	hold := make(chan struct{})
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	d.obey(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("waitMs") {
			<-hold
		}
		return false
	})
	return release
}

// over waits until a request for a path has ended.
func (d *door) over(t *testing.T, path string) {
	t.Helper()
	for limit := time.After(patience); ; {
		select {
		case p := <-d.ended:
			if p == path {
				return
			}
		case <-limit:
			t.Fatalf("no request for %s ended", path)
		}
	}
}

// cut breaks the connection without an answer.
func cut(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
