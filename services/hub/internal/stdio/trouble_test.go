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
	"parley.internal/services/hub/internal/stdio/stdiotest"
)

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// outage is a transport that fails until the outage is over.
type outage struct{ over atomic.Bool }

func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	if !o.over.Load() {
		return refusing{}.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

const creates = `{"id":1,"method":"tools/call","params":{"name":"create_task","arguments":{"title":"t"}}}`

var allNaps = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

func TestTheErrorNamesAServerThatIsDown(t *testing.T) {
	t.Parallel()
	c := stdiotest.Dial(t, "http://user:word@127.0.0.1:1/mcp", func(b *stdio.Bridge, _ *stdiotest.Client) { b.KeyEnv = "MY_KEY" })
	c.Send(creates)
	a := c.Answer()
	stdiotest.Contains(t, a.Error.Message, "127.0.0.1:1/mcp", "connection refused", "`parley serve`", "MY_KEY",
		"REST twin", "http://127.0.0.1:1/v1")
	if a.ID != float64(1) || a.Error.Code != -32000 || strings.Contains(a.Error.Message, "word") {
		t.Errorf("%+v", a)
	}
	c.Ends()
	stdiotest.Contains(t, c.Reports(), "create_task", "trying again in 4s", "`parley serve`")
	if got := c.Pauses(); !reflect.DeepEqual(got, allNaps) {
		t.Errorf("it waited %v", got)
	}
}

func TestAnUnsentRequestIsSentWhenTheServerIsUp(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		stdiotest.Reply(w, p, "{}")
	})
	var down outage
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, c *stdiotest.Client) {
		b.HTTP = &http.Client{Transport: &down}
		c.OnPause = func(n int) { down.over.Store(n == 2) }
	})
	c.Send(creates)
	if a := c.Answer(); a.Error.Code != 0 {
		t.Error(a.Error.Message)
	}
	c.Ends()
	if len(h.Posts()) != 1 || len(c.Pauses()) != 2 || h.Probes != 1 {
		t.Errorf("%d POSTs, %d pauses, %d probes", len(h.Posts()), len(c.Pauses()), h.Probes)
	}
}

func TestAnUnhealthyServerIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, _ stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		stdiotest.HangUp(w)
	})
	h.Down = true
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"id":1,"method":"tools/list"}`)
	stdiotest.Contains(t, c.Answer().Error.Message, "does not answer")
	c.Ends()
	if len(h.Posts()) != 1 || h.Probes != 3 {
		t.Errorf("%d POSTs, %d probes", len(h.Posts()), h.Probes)
	}
}

// interruptions are the ways in which a request that was sent can remain without an answer.
var interruptions = map[string]func(w http.ResponseWriter){
	"a connection that broke": stdiotest.HangUp,
	"502":                     func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	"503":                     func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	"504":                     func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
	"an answer that broke off": func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	},
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

func TestOnlyRequestsThatAreSafeToRepeatAreSentTwice(t *testing.T) {
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
		for way, fail := range interruptions {
			t.Run(tc.method+tc.params+" met by "+way, func(t *testing.T) {
				t.Parallel()
				h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
					if n == 1 {
						fail(w)
						return
					}
					stdiotest.Reply(w, p, "{}")
				})
				c := stdiotest.Dial(t, h.MCP(), nil)
				c.Send(`{"id":1,"method":"` + tc.method + `","params":` + tc.params + `}`)
				a := c.Answer()
				c.Ends()
				if tc.twice && (a.Error.Code != 0 || len(h.Posts()) != 2 || h.Probes != 1) {
					t.Errorf("%d POSTs, %d probes, %+v", len(h.Posts()), h.Probes, a)
				}
				if !tc.twice {
					stdiotest.Contains(t, a.Error.Message, "unknown", h.MCP(), "get_ or list_", "idempotencyKey")
					if a.ID != float64(1) || len(h.Posts()) != 1 || len(c.Pauses()) != 0 {
						t.Errorf("%d POSTs, waited %v, %+v", len(h.Posts()), c.Pauses(), a)
					}
				}
			})
		}
	}
}

func TestACallRefusedAsUnavailableIsRepeated(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"UNAVAILABLE","message":"the store is away"}}`)
			return
		}
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(creates)
	if a := c.Answer(); a.Error.Code != 0 || len(h.Posts()) != 2 {
		t.Errorf("%+v", a)
	}
	stdiotest.Contains(t, c.Reports(), "the store is away")
	c.Ends()
}

func TestTheErrorForAnInvalidAnswerNamesTheRemedy(t *testing.T) {
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
		}, stdiotest.Secret, []string{"PARLEY_KEY", "this key is not known", "`parley key create`"}},
		{"no key", func(w http.ResponseWriter) { w.WriteHeader(401) }, "", []string{"needs a key", "PARLEY_KEY"}},
		{"a wrong path", func(w http.ResponseWriter) {
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"NOT_FOUND","message":"there is no such route"}}`)
		}, stdiotest.Secret, []string{"404 Not Found", "there is no such route"}},
		{"a page", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, stdiotest.Secret,
			[]string{"no MCP message", "/mcp"}},
		{"an answer to another", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		}, stdiotest.Secret, []string{"no MCP message"}},
		{"nothing", func(w http.ResponseWriter) { w.WriteHeader(202) }, stdiotest.Secret,
			[]string{"202", "no MCP message"}},
		{"a redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://else.where/mcp")
			w.WriteHeader(302)
		}, stdiotest.Secret, []string{"302", "a redirect"}},
		{"a limit", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3"); w.WriteHeader(429) },
			stdiotest.Secret, []string{"429", "try again after 3 s"}},
		{"an internal error", func(w http.ResponseWriter) { w.WriteHeader(500) }, stdiotest.Secret,
			[]string{"500 Internal Server Error"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := stdiotest.Serve(t, func(_ int, _ stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
				tc.handle(w)
			})
			c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Key = tc.key })
			c.Send(creates)
			a := c.Answer()
			stdiotest.Contains(t, a.Error.Message, append(tc.want, h.URL)...)
			if a.ID != float64(1) || a.Error.Code != -32000 || len(h.Posts()) != 1 || len(c.Pauses()) != 0 {
				t.Errorf("%+v after %d POSTs", a, len(h.Posts()))
			}
			stdiotest.Contains(t, c.Reports(), tc.want...)
			c.Ends()
		})
	}
}

func TestErrorsOfTheServerArePassedOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"with its id", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header","data":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header","data":{"a":1}}}`},
		{"with none, as the request's", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
			`{"error":{"code":-32700,"message":"m"},"id":1,"jsonrpc":"2.0"}`},
	} {
		h := stdiotest.Serve(t, func(_ int, _ stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, tc.body)
		})
		c := stdiotest.Dial(t, h.MCP(), nil)
		c.Send(creates)
		if got := c.Next(); got != tc.want {
			t.Errorf("%s: %s", tc.name, got)
		}
		c.Ends()
	}
}

func TestPausesUseTheClockByDefault(t *testing.T) {
	t.Parallel()
	var once sync.Once
	called := make(chan struct{})
	c := stdiotest.Dial(t, "http://127.0.0.1:1/mcp", func(b *stdio.Bridge, _ *stdiotest.Client) {
		b.Sleep = nil
		b.HTTP = &http.Client{Transport: trip(func() { once.Do(func() { close(called) }) })}
	})
	c.Send(`{"id":1,"method":"ping"}`)
	<-called
	c.Stop() // during the first pause, which must not outlast it
	if err := c.End(); err != nil {
		t.Error(err)
	}
}

type trip func()

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) {
	f()
	return refusing{}.RoundTrip(r)
}
