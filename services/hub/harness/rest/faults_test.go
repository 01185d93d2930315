package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/supervise"
)

// every is the input of an operation that fails with a kind of fault, or panics.
type every struct {
	Kind string `json:"kind" allow:"nonempty,max=40"`
}

const hidden = "the secret of the database"

func failing(ctx context.Context, _ identity.Caller, in every) (struct{}, error) {
	for _, k := range fault.Kinds() {
		if k.Code() == in.Kind {
			return struct{}{}, fault.Wrap(k, errors.New(hidden), "words about %s", in.Kind)
		}
	}
	switch in.Kind {
	case "after":
		return struct{}{}, fault.New(fault.Unavailable, "later").After(1500 * time.Millisecond)
	case "plain":
		return struct{}{}, errors.New(hidden)
	case "deadline":
		return struct{}{}, context.DeadlineExceeded
	case "panic":
		panic(hidden)
	case "index":
		var p *every
		return struct{}{}, errors.New(p.Kind)
	}
	return struct{}{}, nil
}

// failingHub runs a hub that serves only the operation failing.
func failingHub(t *testing.T, log *slog.Logger, keys func(auth.Keys) auth.Keys) *hubtest.Hub {
	t.Helper()
	return newHub(t, hubtest.Options{Log: log, Keys: keys, Catalogue: func(*app.App) *op.Catalogue {
		spec := op.Spec{Name: "fail", Title: "Fail", Toolset: "relay", Route: "POST /v1/fail", Doc: "Fails."}
		c := op.NewCatalogue([]op.Op{op.New(spec, failing)})
		c.Defaults = c.Toolsets()
		return c
	}})
}

func TestEveryFaultHasItsStatusAndItsCode(t *testing.T) {
	t.Parallel()
	hub := failingHub(t, nil, nil)
	key := hub.Agent("u", "alpha")
	type want struct {
		kind, code, message, after string
		status                     int
	}
	var all []want
	for _, k := range fault.Kinds() {
		w := want{kind: k.Code(), code: k.Code(), message: "words about " + k.Code(), status: k.HTTP()}
		if k == fault.Internal {
			w.message = "internal error"
		}
		if k == fault.Exhausted {
			w.after = "1"
		}
		all = append(all, w)
	}
	all = append(all, want{"after", "UNAVAILABLE", "later", "2", 503},
		want{"plain", "INTERNAL", "internal error", "", 500},
		want{"deadline", "UNAVAILABLE", "the call was ended before it was done; it may be repeated", "", 503})
	for _, w := range all {
		a := hub.REST(key, "POST", "/v1/fail", args{"kind": w.kind})
		f := a.Fault()
		if a.Status != w.status || f.Code != w.code || f.Message != w.message || f.Details == nil ||
			a.Header.Get("Retry-After") != w.after {
			t.Errorf("%s over REST: got %s, Retry-After %q; want %+v", w.kind, a, a.Header.Get("Retry-After"), w)
		}
		challenge := ""
		if w.status == 401 {
			challenge = `Bearer realm="parley", error="invalid_token", error_description="words about UNAUTHENTICATED"`
		}
		if got := a.Header.Get("WWW-Authenticate"); got != challenge {
			t.Errorf("%s over REST: got WWW-Authenticate %q, want %q", w.kind, got, challenge)
		}
		text := w.code + ": " + w.message
		if w.after != "" {
			text += " (try again after " + w.after + " s)"
		}
		m := hub.Tool(key, "/mcp", "fail", args{"kind": w.kind})
		if f := m.Fault(); m.Status != 200 || !m.IsError || len(m.Texts) != 1 || m.Texts[0] != text ||
			f.Code != w.code || f.Message != w.message {
			t.Errorf("%s over MCP: got %s, want %q", w.kind, m.Answer, text)
		}
		if strings.Contains(string(a.Body)+string(m.Body), hidden) {
			t.Errorf("%s: the cause is shown: %s %s", w.kind, a, m.Answer)
		}
	}
}

func TestAPanicIsAnInternalFaultAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	var log supervise.Output
	hub := failingHub(t, slog.New(slog.NewJSONHandler(&log, nil)), nil)
	key := hub.Agent("u", "alpha")
	for _, kind := range []string{"panic", "index"} {
		a := hub.REST(key, "POST", "/v1/fail", args{"kind": kind})
		if f := a.Fault(); a.Status != 500 || f.Code != "INTERNAL" || f.Message != "internal error" ||
			len(f.Details) != 0 || a.Meta().RequestID == "" {
			t.Errorf("%s over REST: got %s, want 500 in the envelope", kind, a)
		}
		m := hub.Tool(key, "/mcp", "fail", args{"kind": kind})
		if m.Status != 200 || m.Err != nil || !m.IsError ||
			!slices.Equal(m.Texts, []string{"INTERNAL: internal error"}) {
			t.Errorf("%s over MCP: got %s, want a result with isError", kind, m.Answer)
		}
		for _, text := range []string{string(a.Body), string(m.Body)} {
			if strings.Contains(text, hidden) || strings.Contains(text, "goroutine") ||
				strings.Contains(text, "index out of range") {
				t.Errorf("%s: the panic is shown: %s", kind, text)
			}
		}
		if a := hub.REST(key, "POST", "/v1/fail", args{"kind": "none"}); a.Status != 200 {
			t.Errorf("after %s: got %s, want that the server goes on", kind, a)
		}
	}
	// The log has the causes, and no key.
	if text := log.String(); strings.Count(text, `"level":"ERROR"`) != 4 || !strings.Contains(text, hidden) ||
		strings.Contains(text, key) {
		t.Errorf("got the log %s, want four errors with their causes", text)
	}
}

func TestAPanicOutsideAnOperationIsAnInternalFault(t *testing.T) {
	t.Parallel()
	hub := failingHub(t, nil, func(auth.Keys) auth.Keys { return panicking{} })
	for _, a := range []hubtest.Answer{hub.REST("k", "POST", "/v1/fail", args{"kind": "none"}),
		hub.MCP("k", "/mcp", hubtest.Message(1, "tools/list", nil)).Answer} {
		if f := a.Fault(); a.Status != 500 || f.Code != "INTERNAL" || f.Message != "internal error" {
			t.Errorf("got %s, want 500 in the envelope", a)
		}
	}
	if a := hub.Raw("GET", "/v1/health", nil); a.Status != 200 {
		t.Errorf("got %s, want that the server goes on", a)
	}
}

type panicking struct{}

func (panicking) Lookup(context.Context, string) (identity.Caller, time.Time, error) { panic(hidden) }

func TestTheLogHasALineForEachCallAndNoSecrets(t *testing.T) {
	t.Parallel()
	var log supervise.Output
	hub := newHub(t, hubtest.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	key, human := hub.Agent("u", "alpha"), hub.Human("u")
	a := hub.REST(key, "POST", "/v1/tasks", args{"title": "of nobody's concern", "target": "any"})
	m := hub.Tool(key, "/mcp", "get_task", args{"taskId": "nobody-made-this"}, "X-Request-Id", "of-the-caller")
	var made struct{ Key string }
	hubtest.Must(t, hub.REST(human, "POST", "/v1/keys", args{"program": "beta"}).Into(&made))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q, want a line for each of three calls", lines)
	}
	var first, second map[string]any
	hubtest.Must(t, json.Unmarshal([]byte(lines[0]), &first))
	hubtest.Must(t, json.Unmarshal([]byte(lines[1]), &second))
	for field, want := range map[string]any{"op": "create_task", "transport": "rest", "requestId": a.Meta().RequestID,
		"user": "u", "program": "alpha"} {
		if first[field] != want {
			t.Errorf("the first line has %s %v, want %v", field, first[field], want)
		}
	}
	for field, want := range map[string]any{"op": "get_task", "transport": "mcp", "requestId": "of-the-caller",
		"fault": "NOT_FOUND"} {
		if second[field] != want {
			t.Errorf("the second line has %s %v, want %v; the answer was %s", field, second[field], want, m.Answer)
		}
	}
	for _, secret := range []string{key, human, made.Key, "of nobody's concern"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// A client that dies in an upload, or frames its body wrongly, is told so, and the server is not at fault.
func TestABodyThatIsNotWholeIsInvalid(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for name, body := range map[string]string{
		"a chunk's length that is none": "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"a chunk that ends early":       "Transfer-Encoding: chunked\r\n\r\n64\r\n{\"title\":",
		"a body that ends early":        "Content-Length: 100\r\n\r\n{\"title\":\"t\",\"target\":\"b\"}",
	} {
		for _, path := range []string{"/v1/tasks", "/mcp"} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(hub.URL, "http://"))
			domaintest.Check(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s",
				path, conn.RemoteAddr(), key, body)
			domaintest.Check(t, err)
			domaintest.Check(t, conn.(*net.TCPConn).CloseWrite())
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", path, name, err)
			}
			text, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "send it again, whole") {
				t.Errorf("%s, %s: got %d %s, %v", path, name, res.StatusCode, text, err)
			}
			_ = conn.Close()
		}
	}
}
