package caller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/shared/client"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func response(status int, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

func rest(code string) string {
	return fmt.Sprintf(`{"success":false,"error":{"code":%q,"message":"m","details":[]},"meta":{}}`, code)
}

func tool(code, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":%q}],`+
		`"structuredContent":{"error":{"code":%q,"message":"m"}}}}`, text, code)
}

const (
	restOK = `{"success":true,"data":{"a":1},"meta":{}}`
	toolOK = `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":1}}}`
)

func TestEachAnswerIsSuccessTransientOrARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mcp     bool
		res     *http.Response
		body    string
		err     error
		verdict verdict
		outcome string
	}{
		"REST's success":                {false, response(200), restOK, nil, success, "ok"},
		"REST's creation":               {false, response(201), restOK, nil, success, "ok"},
		"a success with another status": {false, response(500), restOK, nil, refused, "garbled"},
		"a tool's success":              {true, response(200), toolOK, nil, success, "ok"},
		"a connection that was refused": {false, nil, "", io.ErrUnexpectedEOF, unknown, "no answer"},
		"an answer that was cut": {
			true, response(200), toolOK[:20], io.ErrUnexpectedEOF, unknown, "no answer",
		},
		"an answer that is half": {true, response(200), toolOK[:20], nil, refused, "garbled"},
		"no server behind the balancer": {
			true, response(503, balancer.Header, "x"), "", nil, again, "503 balancer",
		},
		"a server that did not answer": {
			false, response(502, balancer.Header, "x"), "", nil, unknown, "502 balancer",
		},
		"a 502 of another proxy": {false, response(502), "", nil, refused, "garbled"},
		"contention over REST":   {false, response(409), rest("CONFLICT"), nil, again, "CONFLICT"},
		"contention over MCP": {
			true, response(200), tool("CONFLICT", "CONFLICT: m"), nil, again, "CONFLICT",
		},
		"an unknown outcome over REST": {false, response(503), rest("OUTCOME_UNKNOWN"), nil, unknown, "OUTCOME_UNKNOWN"},
		"an unknown outcome over MCP": {
			true, response(200), tool("OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN: m"), nil, unknown, "OUTCOME_UNKNOWN",
		},
		"unavailable over REST": {false, response(503), rest("UNAVAILABLE"), nil, again, "UNAVAILABLE"},
		"unavailable over MCP": {
			true, response(200), tool("UNAVAILABLE", "UNAVAILABLE: m"), nil, again, "UNAVAILABLE",
		},
		"exhausted with a time": {
			false, response(429, "Retry-After", "2"), rest("RESOURCE_EXHAUSTED"), nil, again, "RESOURCE_EXHAUSTED",
		},
		"exhausted with a time over MCP": {
			true, response(200), tool("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED: m (try again after 2 s)"),
			nil, again, "RESOURCE_EXHAUSTED",
		},
		"exhausted without a time": {
			false, response(429), rest("RESOURCE_EXHAUSTED"), nil, refused, "RESOURCE_EXHAUSTED",
		},
		"exhausted without a time over MCP": {
			true, response(200), tool("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED: m"),
			nil, refused, "RESOURCE_EXHAUSTED",
		},
		"an internal error": {false, response(500), rest("INTERNAL"), nil, refused, "INTERNAL"},
		"an internal error over MCP": {
			true, response(200), tool("INTERNAL", "INTERNAL: internal error"), nil, refused, "INTERNAL",
		},
		"contention with a status of its own": {false, response(500), rest("CONFLICT"), nil, refused, "garbled"},
		"a key that the MCP endpoint refuses": {
			true, response(401), rest("UNAUTHENTICATED"), nil, refused, "UNAUTHENTICATED",
		},
		"an unavailable MCP endpoint": {true, response(503), rest("UNAVAILABLE"), nil, again, "UNAVAILABLE"},
		"an error of the protocol": {
			true, response(200), `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`,
			nil, refused, "garbled",
		},
		"a tool's result without content": {
			true, response(200), `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, nil, refused, "garbled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := judge(c.res, []byte(c.body), c.err)
			if !c.mcp {
				j = judgedOverREST(t, c.res, c.body)
			}
			if j.verdict != c.verdict || j.outcome != c.outcome {
				t.Errorf("judged %d, %q", j.verdict, j.outcome)
			}
			if (j.verdict == refused) != (j.refusal != nil) || (j.verdict == success) != (string(j.data) == `{"a":1}`) {
				t.Errorf("%+v", j)
			}
			if strings.Contains(name, "with a time") && j.after != 2*time.Second {
				t.Errorf("wait %v", j.after)
			}
		})
	}
}

// judgedOverREST returns the judgement of a call over REST with this answer; with nil the server hangs up.
func judgedOverREST(t *testing.T, res *http.Response, body string) judgement {
	t.Helper()
	c, _ := newCaller(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if res == nil {
			hangUp(w)
		}
		maps.Copy(w.Header(), res.Header)
		answer(res.StatusCode, body)(w)
	}))
	return c.attempt(t.Context(), "get_tasks", "id", 0, nil)
}

// scripted is a server that gives the answers in turn, the last one again and again, and records the requests.
type scripted struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	asked   []string
	ids     []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	next := s.answers[0]
	if len(s.answers) > 1 { // on a busy machine a caller may ask more often than the test expects
		s.answers = s.answers[1:]
	}
	s.asked = append(s.asked, r.Method+" "+r.URL.String()+" "+string(body))
	s.ids = append(s.ids, r.Header.Get("X-Request-Id"))
	s.mu.Unlock()
	next(w)
}

func answer(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

type counted struct {
	mu       sync.Mutex
	outcomes []string
	stuck    int
}

func newCaller(t *testing.T, s http.Handler) (*Caller, *counted) {
	t.Helper()
	server := httptest.NewServer(s)
	n := &counted{}
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	httpClient := &http.Client{Transport: transport}
	rest, err := client.New(server.URL, "k", client.WithHTTPClient(httpClient))
	if err != nil {
		t.Fatal(err)
	}
	return &Caller{Name: "c", Key: "k", Base: server.URL, REST: rest, Client: httpClient,
		Now: time.Now, Slack: time.Minute, Count: func(_, outcome string, _ time.Duration) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.outcomes = append(n.outcomes, outcome)
		}, Stuck: func(string, string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.stuck++
		}}, n
}

func TestACallIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []func(http.ResponseWriter){
		hangUp, answer(409, rest("CONFLICT")), answer(503, rest("OUTCOME_UNKNOWN")), answer(200, restOK),
	}}
	c, n := newCaller(t, s)
	var out struct{ A int }
	call, err := c.Do(t.Context(), "claim_task", 0, map[string]any{"taskId": "a b", "sessionId": "s"}, &out)
	if err != nil || out.A != 1 || len(call.Attempts) != 4 {
		t.Fatalf("%+v, %v, %+v", call, err, out)
	}
	if want := `POST /v1/tasks/a%20b/claim {"sessionId":"s"}`; s.asked[0] != want || s.asked[3] != want {
		t.Errorf("asked %q", s.asked)
	}
	if unsure := call.Unsure(); len(unsure) != 2 || unsure[0].RequestID != "c-1.1" || unsure[1].RequestID != "c-1.3" ||
		s.ids[3] != "c-1.4" {
		t.Errorf("unsure of %+v; the server saw %q", call.Unsure(), s.ids)
	}
	if got := strings.Join(n.outcomes, ", "); got != "no answer, CONFLICT, OUTCOME_UNKNOWN, ok" {
		t.Error(got)
	}
}

// tools is an MCP server of the official SDK whose tool get_tasks answers with results, one after another.
func tools(results ...*mcp.CallToolResult) (handler http.Handler, ids func() []string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	var mu sync.Mutex
	var seen []string
	s.AddTool(&mcp.Tool{Name: "get_tasks", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r.Extra.Header.Get("Authorization")+" "+r.Extra.Header.Get("X-Request-Id")+" "+string(r.Params.Arguments))
			return results[len(seen)-1], nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(seen)
		}
}

// failed is the result of a tool with a fault.
func failed(code string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: code}},
		StructuredContent: map[string]any{"error": map[string]any{"code": code, "message": "m"}}}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"", "2025-11-25"} {
		for _, code := range []fault.Kind{fault.Internal, fault.Precondition, fault.NotFound} {
			handler, seen := tools(failed("CONFLICT"), failed(code.Code()))
			c, _ := newCaller(t, handler)
			c.Toolsets, c.Protocol = []string{"dispatch", "relay"}, protocol
			_, err := c.Do(t.Context(), "get_tasks", 0, map[string]any{"limit": 3}, &struct{}{})
			var r *Refusal
			if !errors.As(err, &r) || r.Code != code.Code() || r.RequestID != "c-1.2" || r.Op != "get_tasks" {
				t.Errorf("%v: %v", code, err)
			}
			if want := []string{`Bearer k c-1.1 {"limit":3}`, `Bearer k c-1.2 {"limit":3}`}; !slices.Equal(seen(), want) {
				t.Errorf("asked %q", seen())
			}
			domaintest.Check(t, c.Close())
		}
	}
}

func TestASuccessOverMCPIsDecoded(t *testing.T) {
	t.Parallel()
	handler, _ := tools(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"a": 1}})
	c, n := newCaller(t, handler)
	defer func() { domaintest.Check(t, c.Close()) }()
	c.Toolsets = []string{"dispatch"}
	var out struct{ A int }
	if _, err := c.Do(t.Context(), "get_tasks", 0, nil, &out); err != nil || out.A != 1 || !slices.Equal(n.outcomes, []string{"ok"}) {
		t.Errorf("%+v, %v, %v", out, err, n.outcomes)
	}
}

func TestAMissingAnswerIsReported(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &scripted{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { <-release }, answer(200, restOK)}}
	c, n := newCaller(t, s)
	defer close(release)
	c.Slack = 50 * time.Millisecond
	call, err := c.Do(t.Context(), "get_tasks", 0, nil, &struct{}{})
	if n.stuck == 0 || (err == nil && len(call.Unsure()) == 0) {
		t.Errorf("stuck %d times, %+v, %v", n.stuck, call, err)
	}
}

func TestARequestOfWhichNothingIsHeardIsGivenUpAndRepeated(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &scripted{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { <-release }, answer(200, restOK)}}
	c, n := newCaller(t, s)
	defer close(release)
	c.Patience, c.Silent = 50*time.Millisecond, func(id string) bool { return id == "c-1.1" }
	call, err := c.Do(t.Context(), "get_tasks", 0, nil, &struct{}{})
	if err != nil || n.stuck != 0 || len(call.Attempts) != 2 || len(call.Unsure()) != 1 || !call.Attempts[0].Silent ||
		call.Attempts[1].Silent {
		t.Errorf("%+v, %v, stuck %d times", call, err, n.stuck)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		answer(409, rest("CONFLICT"))(w)
	})
	c, n := newCaller(t, s)
	if _, err := c.Do(ctx, "get_tasks", 0, nil, &struct{}{}); !errors.Is(err, context.Canceled) || n.stuck != 0 {
		t.Errorf("%v, stuck %d times", err, n.stuck)
	}
}
