package stdio_test

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/services/hub/internal/stdio"
)

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// gate lets requests through once it is open.
type gate struct{ open atomic.Bool }

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if !g.open.Load() {
		return refusing{}.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

const creates = `{"id":1,"method":"tools/call","params":{"name":"create_task","arguments":{"title":"t"}}}`

var allNaps = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

func TestAServerThatIsDownIsSaidToBe(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.Close()
	c := dial(t, strings.Replace(h.mcp(), "http://", "http://user:word@", 1), func(b *stdio.Bridge, _ *client) { b.KeyEnv = "MY_KEY" })
	c.send(creates)
	a := c.answer()
	contains(t, a.Error.Message, h.Listener.Addr().String()+"/mcp", "connection refused", "`parley serve`", "MY_KEY", "REST twin", h.URL+"/v1")
	if a.ID != float64(1) || a.Error.Code != -32000 || strings.Contains(a.Error.Message, "word") {
		t.Errorf("%+v", a)
	}
	c.ends()
	contains(t, c.troubles(), "create_task", "trying again in 4s", "`parley serve`")
	if got := c.naps(); !reflect.DeepEqual(got, allNaps) {
		t.Errorf("it waited %v", got)
	}
}

func TestARequestThatWasNeverSentIsSentOnceTheServerIsUp(t *testing.T) {
	t.Parallel()
	h := serve(t, func(_ int, p post, w http.ResponseWriter, _ *http.Request) { reply(w, p, "{}") })
	var g gate
	c := dial(t, h.mcp(), func(b *stdio.Bridge, c *client) {
		b.HTTP = &http.Client{Transport: &g}
		c.onNap = func(n int) { g.open.Store(n == 2) }
	})
	c.send(creates)
	if a := c.answer(); a.Error.Code != 0 {
		t.Error(a.Error.Message)
	}
	c.ends()
	if len(h.got()) != 1 || len(c.naps()) != 2 || h.probes != 1 {
		t.Errorf("%d POSTs, %d pauses, %d probes", len(h.got()), len(c.naps()), h.probes)
	}
}

func TestAServerThatIsNotHealthyIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	h := serve(t, func(_ int, _ post, w http.ResponseWriter, _ *http.Request) { hangUp(w) })
	h.down = true
	c := dial(t, h.mcp(), nil)
	c.send(`{"id":1,"method":"tools/list"}`)
	contains(t, c.answer().Error.Message, "does not answer")
	c.ends()
	if len(h.got()) != 1 || h.probes != 3 {
		t.Errorf("%d POSTs, %d probes", len(h.got()), h.probes)
	}
}

// ways are those in which a request that was sent can stay without its answer.
var ways = map[string]func(w http.ResponseWriter){
	"a connection that broke":  hangUp,
	"502":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	"503":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	"504":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
	"an answer that broke off": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = io.WriteString(w, "{") },
	"a stream that broke off": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"id\":1,\"res")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	"a stream that ended": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": bye\n\n")
	},
}

func TestOnlyWhatDoesNoHarmTwiceIsSentTwice(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, params string
		twice          bool
	}{
		{"initialize", `{}`, true},
		{"server/discover", `{}`, true},
		{"tools/list", `{}`, true},
		{"ping", `{}`, true},
		{"prompts/get", `{"name":"create_task"}`, true},
		{"resources/read", `{"uri":"a://b"}`, true},
		{"tools/call", `{"name":"get_tasks","arguments":{}}`, true},
		{"tools/call", `{"name":"list_questions"}`, true},
		{"tools/call", `{"name":"create_task","arguments":{"idempotencyKey":"k"}}`, true},
		{"tools/call", `{"name":"create_task","arguments":{"idempotencyKey":""}}`, false},
		{"tools/call", `{"name":"create_task","arguments":{"idempotencyKey":5}}`, false},
		{"tools/call", `{"name":"claim_task","arguments":{"taskId":"get_1"}}`, false},
		{"tools/call", `{}`, false},
		{"tools/other", `{"name":"get_tasks"}`, false},
	} {
		for way, fail := range ways {
			t.Run(tc.method+tc.params+" met by "+way, func(t *testing.T) {
				t.Parallel()
				h := serve(t, func(n int, p post, w http.ResponseWriter, _ *http.Request) {
					if n == 1 {
						fail(w)
						return
					}
					reply(w, p, "{}")
				})
				c := dial(t, h.mcp(), nil)
				c.send(`{"id":1,"method":"` + tc.method + `","params":` + tc.params + `}`)
				a := c.answer()
				c.ends()
				if tc.twice && (a.Error.Code != 0 || len(h.got()) != 2 || h.probes != 1) {
					t.Errorf("%d POSTs, %d probes, %+v", len(h.got()), h.probes, a)
				}
				if !tc.twice {
					contains(t, a.Error.Message, "unknown", h.mcp(), "get_ or list_", "idempotencyKey")
					if a.ID != float64(1) || len(h.got()) != 1 || len(c.naps()) != 0 {
						t.Errorf("%d POSTs, waited %v, %+v", len(h.got()), c.naps(), a)
					}
				}
			})
		}
	}
}

func TestACallThatParleyRefusedAsUnavailableDidNotRun(t *testing.T) {
	t.Parallel()
	h := serve(t, func(n int, p post, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"UNAVAILABLE","message":"the store is away"}}`)
			return
		}
		reply(w, p, "{}")
	})
	c := dial(t, h.mcp(), nil)
	c.send(creates)
	if a := c.answer(); a.Error.Code != 0 || len(h.got()) != 2 {
		t.Errorf("%+v", a)
	}
	contains(t, c.troubles(), "the store is away")
	c.ends()
}

func TestAnAnswerThatIsNoneSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		handle func(w http.ResponseWriter)
		key    string
		want   []string
	}{
		{"a key that is not known", func(w http.ResponseWriter) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"UNAUTHENTICATED","message":"this key is not known"}}`)
		}, secret, []string{"PARLEY_KEY", "this key is not known", "`parley key create`"}},
		{"no key", func(w http.ResponseWriter) { w.WriteHeader(401) }, "", []string{"wants a key", "PARLEY_KEY"}},
		{"a wrong path", func(w http.ResponseWriter) {
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"NOT_FOUND","message":"there is no such route"}}`)
		}, secret, []string{"404 Not Found", "there is no such route"}},
		{"a page", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, secret, []string{"no MCP message", "/mcp"}},
		{"an answer to another", func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`) }, secret, []string{"no MCP message"}},
		{"nothing", func(w http.ResponseWriter) { w.WriteHeader(202) }, secret, []string{"202", "no MCP message"}},
		{"a redirect", func(w http.ResponseWriter) { w.Header().Set("Location", "https://else.where/mcp"); w.WriteHeader(302) }, secret, []string{"302", "points elsewhere"}},
		{"a limit", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3"); w.WriteHeader(429) }, secret, []string{"429", "try again after 3 s"}},
		{"an internal error", func(w http.ResponseWriter) { w.WriteHeader(500) }, secret, []string{"500 Internal Server Error"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, func(_ int, _ post, w http.ResponseWriter, _ *http.Request) { tc.handle(w) })
			c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Key = tc.key })
			c.send(creates)
			a := c.answer()
			contains(t, a.Error.Message, append(tc.want, h.URL)...)
			if a.ID != float64(1) || a.Error.Code != -32000 || len(h.got()) != 1 || len(c.naps()) != 0 {
				t.Errorf("%+v after %d POSTs", a, len(h.got()))
			}
			contains(t, c.troubles(), tc.want...)
			c.ends()
		})
	}
}

func TestTheServersOwnErrorsArePassedOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"with its id", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header","data":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header","data":{"a":1}}}`},
		{"with none, as the request's", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
			`{"error":{"code":-32700,"message":"m"},"id":1,"jsonrpc":"2.0"}`},
	} {
		h := serve(t, func(_ int, _ post, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, tc.body)
		})
		c := dial(t, h.mcp(), nil)
		c.send(creates)
		if got := c.next(); got != tc.want {
			t.Errorf("%s: %s", tc.name, got)
		}
		c.ends()
	}
}

func TestTheClockIsUsedWhereNoneIsGiven(t *testing.T) {
	t.Parallel()
	var once sync.Once
	called := make(chan struct{})
	c := dial(t, "http://127.0.0.1:1/mcp", func(b *stdio.Bridge, _ *client) {
		b.Sleep = nil
		b.HTTP = &http.Client{Transport: trip(func() { once.Do(func() { close(called) }) })}
	})
	c.send(`{"id":1,"method":"ping"}`)
	<-called
	c.stop() // during the first pause, which must not outlast it
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

type trip func()

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) {
	f()
	return refusing{}.RoundTrip(r)
}
