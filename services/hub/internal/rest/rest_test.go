package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

func newHub(t *testing.T, o hubtest.Options) *hubtest.Hub {
	t.Helper()
	return hubtest.New(t, storetest.SQLite(t, app.Schema()), o)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHealthAndTheDocumentNeedNoKey(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	var health struct{ Status, Version string }
	a := hub.Raw("GET", "/v1/health", nil)
	if err := a.Into(&health); err != nil || a.Status != 200 || health.Status != "ok" || health.Version != hubtest.Version {
		t.Errorf("health: got %s, %v", a, err)
	}
	if a := hub.Raw("GET", "/v1/health", nil, "Authorization", "Bearer nonsense"); a.Status != 200 {
		t.Errorf("health with a bad key: got %s, want 200", a)
	}
	a = hub.Raw("GET", "/openapi.json", nil)
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("openapi.json: got %d as %s", a.Status, a.Header.Get("Content-Type"))
	}
}

func TestEveryRouteIsServedAndWantsAKey(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Human("u")
	hole := regexp.MustCompile(`\{\w+\}`)
	for _, o := range hub.Catalogue.Ops() {
		for _, r := range o.Routes() {
			path := hole.ReplaceAllString(op.Path(r.Route), "nobody-made-this")
			a := hub.Raw(op.Method(r.Route), path, nil)
			if a.Status != 401 || a.Header.Get("WWW-Authenticate") != "Bearer" || a.Fault().Code != "UNAUTHENTICATED" {
				t.Errorf("%s without a key: got %s, want 401", r.Route, a)
			}
			a = hub.REST(key, op.Method(r.Route), path, nil)
			if a.Status == 405 || strings.Contains(a.Fault().Message, "no such route") || a.Status >= 500 {
				t.Errorf("%s: got %s, want that the route is there", r.Route, a)
			}
			if a.Meta().RequestID == "" || a.Meta().RequestID != a.Header.Get("X-Request-Id") || a.Meta().Timestamp.IsZero() {
				t.Errorf("%s: got the meta %+v and X-Request-Id %q", r.Route, a.Meta(), a.Header.Get("X-Request-Id"))
			}
		}
	}
}

func TestWhatIsNoRouteIsToldInTheEnvelope(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/", 404, "NOT_FOUND"},
		{"GET", "/v1/nope", 404, "NOT_FOUND"},
		{"GET", "/v2/tasks", 404, "NOT_FOUND"},
		{"PUT", "/v1/tasks", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/v1/messages", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/v1/health", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/openapi.json", 405, "METHOD_NOT_ALLOWED"},
	} {
		a := hub.Raw(c.method, c.path, nil)
		if f := a.Fault(); a.Status != c.status || f.Code != c.code || !strings.Contains(f.Message, "/openapi.json") || f.Details == nil || a.Meta().RequestID == "" {
			t.Errorf("%s %s: got %s, want %d %s", c.method, c.path, a, c.status, c.code)
		}
		if c.status == 405 && a.Header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

func TestARequestIDIsTheCallersWhereItIsSafe(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for id, taken := range map[string]bool{"abc-123_x.y": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "a b": false,
		`a"b`: false, "ä": false, "": false, "a;b": false} {
		got := hub.Raw("GET", "/v1/health", nil, "X-Request-Id", id).Header.Get("X-Request-Id")
		if (got == id) != taken || got == "" {
			t.Errorf("%q: got %q, taken should be %t", id, got, taken)
		}
	}
}

func TestEveryCompatibilityRouteHasItsTest(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	tested := []string{"GET /v1/interrupts/peek"} // in TestCompatibilityRoutesMeanWhatTheirNamesSay
	for _, o := range hub.Catalogue.Ops() {
		for _, r := range o.Compat {
			if !slices.Contains(tested, r.Route) {
				t.Errorf("%s of %s has no test", r.Route, o.Name)
			}
		}
	}
}

func TestCompatibilityRoutesMeanWhatTheirNamesSay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key := hub.Agent("u", "alpha")
		for _, text := range []string{"one", "two"} {
			if a := hub.REST(key, "POST", "/v1/messages", args{"message": text, "source": "alpha", "target": "alpha", "message_type": "DIRECTIVE"}); a.Status != 201 {
				t.Fatal(a)
			}
		}
		for range 3 {
			for _, path := range []string{"/v1/interrupts/peek", "/v1/interrupts/peek?target=alpha", "/v1/interrupts/peek?markAsRead=false"} {
				var got struct {
					Messages []struct {
						Status     string
						Deliveries int
					}
				}
				a := hub.REST(key, "GET", path, nil)
				if err := a.Into(&got); err != nil || a.Status != 200 || len(got.Messages) != 2 || got.Messages[0].Status != "pending" || got.Messages[0].Deliveries != 0 {
					t.Errorf("%s: got %s, %v; want both messages, unmarked", path, a, err)
				}
			}
		}
		if a := hub.REST(key, "GET", "/v1/interrupts/peek?limit=1", nil); strings.Count(string(a.Body), `"deliveries"`) != 1 {
			t.Errorf("got %s, want that other inputs count as ever", a)
		}
		if a := hub.REST(key, "GET", "/v1/messages", nil); strings.Count(string(a.Body), `"status":"delivered"`) != 2 {
			t.Errorf("got %s, want that the peeks marked nothing", a)
		}
	})
}

func TestWhatCreatesAnswers201(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	human := hub.Human("u")
	creating := map[string]args{
		"create_task":  {"title": "t", "target": "any"},
		"send_message": {"message": "m", "source": "x", "target": "alpha", "message_type": "PING"},
		"ask_question": {"question": "q"},
		"team_create":  {"team_name": "the-team"},
		"create_key":   {"program": "alpha"},
	}
	for _, o := range hub.Catalogue.Ops() {
		if in, named := creating[o.Name]; named != o.Creates {
			t.Errorf("%s: creates is %t; is it in the test's table: %t", o.Name, o.Creates, named)
		} else if a := hub.Op(human, o, in); named && (a.Status != 201 || a.Data() == nil) {
			t.Errorf("%s: got %s, want 201", o.Name, a)
		}
	}
	for name, in := range map[string]args{"get_tasks": {}, "ack_messages": {"messageIds": []string{"x"}}, "list_keys": {}} {
		if a := hub.Op(human, hub.Catalogue.Op(name), in); a.Status != 200 {
			t.Errorf("%s: got %s, want 200", name, a)
		}
	}
}

func TestAnIdempotencyKeyMakesACallHappenOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := hubtest.NewClock()
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		key := hub.Agent("u", "alpha")
		for path, in := range map[string]args{
			"/v1/tasks":     {"title": "t", "target": "alpha"},
			"/v1/messages":  {"message": "m", "source": "alpha", "target": "alpha", "message_type": "PING"},
			"/v1/questions": {"question": "q"},
		} {
			with := func(more args) args {
				out := args{}
				for _, m := range []args{in, more} {
					for name, v := range m {
						out[name] = v
					}
				}
				return out
			}
			first := hub.REST(key, "POST", path, in, "Idempotency-Key", "once")
			clock.Add(23 * time.Hour)
			for name, again := range map[string]hubtest.Answer{
				"by the header":       hub.REST(key, "POST", path, in, "Idempotency-Key", "once"),
				"by the field":        hub.REST(key, "POST", path, with(args{"idempotencyKey": "once"})),
				"by both":             hub.REST(key, "POST", path, with(args{"idempotencyKey": "once"}), "Idempotency-Key", "once"),
				"with fields moved":   hub.REST(key, "POST", path+"?idempotencyKey=once", in),
				"with a default said": hub.REST(key, "POST", path, with(args{"priority": nil}), "Idempotency-Key", "once"),
			} {
				if again.Status != 201 || !bytes.Equal(again.Data(), first.Data()) {
					t.Errorf("%s %s: got %s, want the first answer %s", path, name, again, first)
				}
			}
			if a := hub.REST(key, "POST", path, with(args{"threadId": "another"}), "Idempotency-Key", "once"); a.Status != 409 || a.Fault().Code != "FAILED_PRECONDITION" || !strings.Contains(a.Fault().Message, `"once"`) {
				t.Errorf("%s with another input: got %s, want 409", path, a)
			}
			if a := hub.REST(key, "POST", path, with(args{"idempotencyKey": "one"}), "Idempotency-Key", "two"); a.Status != 400 || !strings.Contains(a.Fault().Message, "idempotencyKey: is given twice") {
				t.Errorf("%s with two keys: got %s, want 400", path, a)
			}
			if a := hub.REST(key, "POST", path, in, "Idempotency-Key", strings.Repeat("k", 101)); a.Status != 400 || !strings.Contains(a.Fault().Message, "idempotencyKey: must be at most 100") {
				t.Errorf("%s with a long key: got %s, want 400", path, a)
			}
			clock.Add(time.Hour)
			if a := hub.REST(key, "POST", path, in, "Idempotency-Key", "once"); a.Status != 201 || bytes.Equal(a.Data(), first.Data()) {
				t.Errorf("%s a day later: got %s, want another", path, a)
			}
		}
		// Over MCP the field does the same, and shares the key with REST.
		first := hub.REST(key, "POST", "/v1/tasks", args{"title": "shared", "target": "alpha"}, "Idempotency-Key", "shared")
		again := hub.Tool(key, "/mcp", "create_task", args{"title": "shared", "target": "alpha", "idempotencyKey": "shared"})
		if !bytes.Equal(first.Data(), again.Structured) {
			t.Errorf("over MCP: got %s, want %s", again.Answer, first)
		}
		// A header that the operation does not take is no input.
		if a := hub.REST(key, "GET", "/v1/tasks", nil, "Idempotency-Key", "once"); a.Status != 200 {
			t.Errorf("a read with the header: got %s, want 200", a)
		}
	})
}

func TestARaceWithOneIdempotencyKeyMakesOneTask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key := hub.Agent("u", "alpha")
		var mu sync.Mutex
		ids := map[string]int{}
		var all sync.WaitGroup
		for range 4 { // for more the emulator takes minutes
			all.Go(func() {
				for range 20 { // contention past the driver's retries may be repeated
					a, err := hub.Try(t.Context(), "POST", "/v1/tasks", args{"title": "t", "target": "alpha", "idempotencyKey": "k"}, "Authorization", "Bearer "+key)
					if err == nil && a.Fault().Code == "CONFLICT" {
						continue
					}
					var made struct{ TaskID string }
					if err == nil {
						err = a.Into(&made)
					}
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					ids[made.TaskID]++
					return
				}
				t.Error("contention without end")
			})
		}
		all.Wait()
		if len(ids) != 1 {
			t.Errorf("got the ids %v, want one", ids)
		}
	})
}

func TestOnlyAHumanAnswersAQuestion(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	agent, human, admin := hub.Agent("u", "alpha"), hub.Human("u"), hub.Key("u", keys.CreateInput{Scopes: []string{"admin"}})
	var asked struct{ QuestionID string }
	must(t, hub.REST(agent, "POST", "/v1/questions", args{"question": "q"}).Into(&asked))
	path := "/v1/questions/" + asked.QuestionID
	for name, key := range map[string]string{"an agent": agent, "an admin": admin} {
		if a := hub.REST(key, "POST", path+"/answer", args{"response": "mine"}); a.Status != 403 || a.Fault().Code != "FORBIDDEN" || !strings.Contains(a.Fault().Message, "for a human") {
			t.Errorf("%s answers: got %s, want 403", name, a)
		}
		if a := hub.REST(key, "GET", "/v1/questions", nil); a.Status != 403 {
			t.Errorf("%s lists: got %s, want 403", name, a)
		}
	}
	var got struct{ Status, Response string }
	if a := hub.REST(human, "POST", path+"/answer", args{"response": "yes"}); a.Status != 200 {
		t.Errorf("a human answers: got %s", a)
	}
	if err := hub.REST(agent, "GET", path+"/response", nil).Into(&got); err != nil || got.Status != "answered" || got.Response != "yes" {
		t.Errorf("got %+v, %v; want the answer", got, err)
	}
}

func TestWhatWasReadAsAnotherTypeIsTold(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	in := args{"title": 7, "target": "alpha", "ttl": "60", "fallback": "beta"}
	a := hub.REST(key, "POST", "/v1/tasks", in)
	want := []string{"fallback was read as the list [beta]", "title was read as the text 7", "ttl was read as the number 60"}
	if a.Status != 201 || !slices.Equal(a.Meta().Coerced, want) {
		t.Errorf("got %s, want %q", a, want)
	}
	m := hub.Tool(key, "/mcp", "create_task", in)
	if len(m.Texts) != 2 || m.Texts[1] != "Note: "+strings.Join(want, "; ") {
		t.Errorf("over MCP: got the texts %q, want the same in a note", m.Texts)
	}
	if a := hub.REST(key, "GET", "/v1/tasks?limit=5&includeInstructions=false", nil); a.Status != 200 || len(a.Meta().Coerced) != 0 {
		t.Errorf("a query, which is text: got %s, want no note", a)
	}
}

// every is an operation that fails with each kind of fault, or panics.
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

func failingHub(t *testing.T, log *slog.Logger, keys func(auth.Keys) auth.Keys) *hubtest.Hub {
	t.Helper()
	return newHub(t, hubtest.Options{Log: log, Keys: keys, Catalogue: func(*app.App) *op.Catalogue {
		return op.NewCatalogue([]op.Op{op.New(op.Spec{Name: "fail", Title: "Fail", Toolset: "relay", Route: "POST /v1/fail", Doc: "Fails."}, failing)})
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
	all = append(all, want{"after", "UNAVAILABLE", "later", "2", 503}, want{"plain", "INTERNAL", "internal error", "", 500},
		want{"deadline", "UNAVAILABLE", "the call was ended before it was done; it may be repeated", "", 503})
	for _, w := range all {
		a := hub.REST(key, "POST", "/v1/fail", args{"kind": w.kind})
		f := a.Fault()
		if a.Status != w.status || f.Code != w.code || f.Message != w.message || f.Details == nil || a.Header.Get("Retry-After") != w.after {
			t.Errorf("%s over REST: got %s, Retry-After %q; want %+v", w.kind, a, a.Header.Get("Retry-After"), w)
		}
		if (a.Header.Get("WWW-Authenticate") == "Bearer") != (w.status == 401) {
			t.Errorf("%s over REST: got WWW-Authenticate %q", w.kind, a.Header.Get("WWW-Authenticate"))
		}
		text := w.code + ": " + w.message
		if w.after != "" {
			text += " (try again after " + w.after + " s)"
		}
		m := hub.Tool(key, "/mcp", "fail", args{"kind": w.kind})
		if f := m.Fault(); m.Status != 200 || !m.IsError || len(m.Texts) != 1 || m.Texts[0] != text || f.Code != w.code || f.Message != w.message {
			t.Errorf("%s over MCP: got %s, want %q", w.kind, m.Answer, text)
		}
		if strings.Contains(string(a.Body)+string(m.Body), hidden) {
			t.Errorf("%s: the cause is shown: %s %s", w.kind, a, m.Answer)
		}
	}
}

func TestAPanicIsAFaultAndTheServerLives(t *testing.T) {
	t.Parallel()
	var log safeBuffer
	hub := failingHub(t, slog.New(slog.NewJSONHandler(&log, nil)), nil)
	key := hub.Agent("u", "alpha")
	for _, kind := range []string{"panic", "index"} {
		a := hub.REST(key, "POST", "/v1/fail", args{"kind": kind})
		if f := a.Fault(); a.Status != 500 || f.Code != "INTERNAL" || f.Message != "internal error" || len(f.Details) != 0 || a.Meta().RequestID == "" {
			t.Errorf("%s over REST: got %s, want 500 in the envelope", kind, a)
		}
		m := hub.Tool(key, "/mcp", "fail", args{"kind": kind})
		if m.Status != 200 || m.Err != nil || !m.IsError || !slices.Equal(m.Texts, []string{"INTERNAL: internal error"}) {
			t.Errorf("%s over MCP: got %s, want a result with isError", kind, m.Answer)
		}
		for _, text := range []string{string(a.Body), string(m.Body)} {
			if strings.Contains(text, hidden) || strings.Contains(text, "goroutine") || strings.Contains(text, "index out of range") {
				t.Errorf("%s: the panic is shown: %s", kind, text)
			}
		}
		if a := hub.REST(key, "POST", "/v1/fail", args{"kind": "none"}); a.Status != 200 {
			t.Errorf("after %s: got %s, want that the server lives", kind, a)
		}
	}
	// The operator finds it in the log, with the request's id, and no key anywhere.
	if text := log.String(); strings.Count(text, `"level":"ERROR"`) != 4 || !strings.Contains(text, hidden) || strings.Contains(text, key) {
		t.Errorf("got the log %s, want four errors with their causes", text)
	}
}

func TestAPanicOutsideOfAnOperationIsAFaultToo(t *testing.T) {
	t.Parallel()
	hub := failingHub(t, nil, func(auth.Keys) auth.Keys { return panicking{} })
	for _, a := range []hubtest.Answer{hub.REST("k", "POST", "/v1/fail", args{"kind": "none"}), hub.MCP("k", "/mcp", hubtest.Message(1, "tools/list", nil)).Answer} {
		if f := a.Fault(); a.Status != 500 || f.Code != "INTERNAL" || f.Message != "internal error" {
			t.Errorf("got %s, want 500 in the envelope", a)
		}
	}
	if a := hub.Raw("GET", "/v1/health", nil); a.Status != 200 {
		t.Errorf("got %s, want that the server lives", a)
	}
}

type panicking struct{}

func (panicking) Lookup(context.Context, string) (identity.Caller, time.Time, error) { panic(hidden) }

func TestTheLogHasALineForEachCallAndNoSecrets(t *testing.T) {
	t.Parallel()
	var log safeBuffer
	hub := newHub(t, hubtest.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	key, human := hub.Agent("u", "alpha"), hub.Human("u")
	a := hub.REST(key, "POST", "/v1/tasks", args{"title": "of nobody's concern", "target": "any"})
	m := hub.Tool(key, "/mcp", "get_task", args{"taskId": "nobody-made-this"}, "X-Request-Id", "of-the-caller")
	var made struct{ Key string }
	must(t, hub.REST(human, "POST", "/v1/keys", args{"program": "beta"}).Into(&made))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q, want a line for each of three calls", lines)
	}
	var first, second map[string]any
	must(t, json.Unmarshal([]byte(lines[0]), &first))
	must(t, json.Unmarshal([]byte(lines[1]), &second))
	for field, want := range map[string]any{"op": "create_task", "transport": "rest", "requestId": a.Meta().RequestID, "user": "u", "program": "alpha"} {
		if first[field] != want {
			t.Errorf("the first line has %s %v, want %v", field, first[field], want)
		}
	}
	for field, want := range map[string]any{"op": "get_task", "transport": "mcp", "requestId": "of-the-caller", "fault": "NOT_FOUND"} {
		if second[field] != want {
			t.Errorf("the second line has %s %v, want %v; the answer was %s", field, second[field], want, m.Answer)
		}
	}
	for _, secret := range []string{key, human, made.Key, "of nobody's concern"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
}

func TestAnEmptyInboxIsASmallAnswer(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	const limit = 500
	for name, a := range map[string]hubtest.Answer{
		"over REST":                hub.REST(key, "GET", "/v1/messages", nil),
		"over MCP":                 hub.Tool(key, "/mcp", "get_messages", nil).Answer,
		"over MCP, of 2026-07-28":  hub.Modern(key, "/mcp", "tools/call", args{"name": "get_messages"}).Answer,
		"over MCP, after it waits": hub.Tool(key, "/mcp", "get_messages", args{"waitMs": 1}).Answer,
	} {
		if a.Status != 200 || !strings.Contains(string(a.Body), `"messages":[]`) && !strings.Contains(string(a.Body), `\"messages\":[]`) || len(a.Body) >= limit {
			t.Errorf("%s: got %d bytes, want fewer than %d: %s", name, len(a.Body), limit, a)
		}
		t.Logf("%s: %s bytes", name, strconv.Itoa(len(a.Body)))
	}
}

// safeBuffer is a buffer that many may write to.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
