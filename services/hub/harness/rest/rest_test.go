package rest_test

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
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

func TestHealthAndTheDocumentNeedNoKey(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	var health struct{ Status, Version string }
	a := hub.Raw("GET", "/v1/health", nil)
	if err := a.Into(&health); err != nil || a.Status != 200 || health.Status != "ok" ||
		health.Version != hubtest.Version {
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

func TestEveryRouteIsServedAndNeedsAKeyUnlessItIsOpen(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Human("u")
	params := regexp.MustCompile(`\{\w+\}`)
	for _, o := range hub.Catalogue.Ops() {
		for _, r := range o.Routes() {
			path := params.ReplaceAllString(op.Path(r.Route), "nobody-made-this")
			a := hub.Raw(op.Method(r.Route), path, nil)
			if o.Open && a.Status == 401 {
				t.Errorf("%s without a key: got %s", r.Route, a)
			}
			if !o.Open && (a.Status != 401 || a.Header.Get("WWW-Authenticate") != `Bearer realm="parley"` ||
				a.Fault().Code != "UNAUTHENTICATED") {
				t.Errorf("%s without a key: got %s, want 401", r.Route, a)
			}
			a = hub.REST(key, op.Method(r.Route), path, nil)
			if a.Status == 405 || strings.Contains(a.Fault().Message, "no such route") || a.Status >= 500 {
				t.Errorf("%s: got %s, want a served route", r.Route, a)
			}
			if a.Meta().RequestID == "" || a.Meta().RequestID != a.Header.Get("X-Request-Id") ||
				a.Meta().Timestamp.IsZero() {
				t.Errorf("%s: got the meta %+v and X-Request-Id %q", r.Route, a.Meta(), a.Header.Get("X-Request-Id"))
			}
		}
	}
}

func TestAnUnknownRouteOrMethodIsAFaultInTheEnvelope(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/nope", 404, "NOT_FOUND"},
		{"GET", "/v1/nope", 404, "NOT_FOUND"},
		{"GET", "/v2/tasks", 404, "NOT_FOUND"},
		{"PUT", "/v1/tasks", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/v1/messages", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/v1/health", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/openapi.json", 405, "METHOD_NOT_ALLOWED"},
	} {
		a := hub.Raw(c.method, c.path, nil)
		if f := a.Fault(); a.Status != c.status || f.Code != c.code || !strings.Contains(f.Message, "/openapi.json") ||
			f.Details == nil || a.Meta().RequestID == "" {
			t.Errorf("%s %s: got %s, want %d %s", c.method, c.path, a, c.status, c.code)
		}
		if c.status == 405 && a.Header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

func TestASafeRequestIDOfTheCallerIsKept(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for id, taken := range map[string]bool{"abc-123_x.y": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false,
		`a"b`: false, "ä": false, "": false, "a;b": false} {
		got := hub.Raw("GET", "/v1/health", nil, "X-Request-Id", id).Header.Get("X-Request-Id")
		if (got == id) != taken || got == "" {
			t.Errorf("%q: got %q, kept should be %t", id, got, taken)
		}
	}
}

func TestAnOperationThatCreatesAnswers201(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	human := hub.Human("u")
	stories := []any{args{"id": "a", "title": "t"}}
	var sprint struct{ SprintID string }
	hubtest.Must(t, hub.REST(human, "POST", "/v1/sprints",
		args{"projectName": "p", "branch": "b", "stories": stories}).Into(&sprint))
	var council struct {
		ID string `json:"session_id"`
	}
	hubtest.Must(t, hub.REST(human, "POST", "/v1/councils", args{"agent_name": "alpha", "request": "r"}).Into(&council))
	hubtest.Must(t, hub.REST(human, "PUT", "/v1/fires/f", args{}).Into(&struct{}{}))
	var verification struct{ SessionID string }
	hubtest.Must(t, hub.REST(human, "POST", "/v1/verifications",
		args{"target": "a.ts", "requirements": "r", "workingDir": "/w"}).Into(&verification))
	creating := map[string]args{
		"create_task":             {"title": "t", "target": "any"},
		"send_message":            {"message": "m", "source": "x", "target": "alpha", "message_type": "PING"},
		"ask_question":            {"question": "q"},
		"send_alert":              {"message": "m"},
		"create_session":          {"name": "n"},
		"start_council":           {"agent_name": "alpha", "request": "r"},
		"send_response":           {"agent_name": "alpha", "session_id": council.ID, "content": "c"},
		"campfire_post_message":   {"fireId": "f", "text": "t"},
		"campfire_speak_to_party": {"fireId": "f", "text": "t"},
		"campfire_throw_gauntlet": {"fireId": "g", "challenger_name": "alpha", "target_name": "beta",
			"thesis_of_attack": "t"},
		"elenchus_start_session": {"target": "a.ts", "requirements": "r", "workingDir": "/w"},
		"elenchus_submit_round":  {"sessionId": verification.SessionID, "role": "verifier", "output": "o"},
		"elenchus_checkpoint":    {"sessionId": verification.SessionID},
		"register_device":        {"token": "t", "platform": "web"},
		"create_sprint":          {"projectName": "p", "branch": "b", "stories": stories},
		"add_story_to_sprint":    {"sprintId": sprint.SprintID, "story": args{"id": "b", "title": "t"}},
		"team_create":            {"team_name": "the-team"},
		"team_spawn_teammate":    {"team_name": "the-team", "name": "beta", "prompt": "p"},
		"team_send_message": {"team_name": "the-team", "type": "message", "recipient": "beta", "summary": "s",
			"content": "c"},
		"team_task_create": {"team_name": "the-team", "subject": "s", "description": "d"},
		"create_key":       {"program": "alpha"},
		"reserve_files":    {"paths": []string{"a/"}, "project": "p"},
		"request_pairing":  {"client": "claude", "program": "claude", "machine": "vm"},
	}
	for _, o := range hub.Catalogue.Ops() {
		if in, named := creating[o.Name]; named != o.Creates {
			t.Errorf("%s: creates is %t; in the table of the test: %t", o.Name, o.Creates, named)
		} else if a := hub.Op(human, o, in); named && (a.Status != 201 || a.Data() == nil) {
			t.Errorf("%s: got %s, want 201", o.Name, a)
		}
	}
	for name, in := range map[string]args{
		"get_tasks":           {},
		"ack_messages":        {"messageIds": []string{"x"}},
		"list_keys":           {},
		"set_group":           {"name": "g", "members": []string{"x"}},
		"update_sprint_story": {"sprintId": sprint.SprintID, "storyId": "a", "status": "active"},
		"list_sessions":       {},
		"get_overview":        {},
		"get_usage":           {},
		"team_task_update":    {"team_name": "the-team", "task_id": "1", "status": "completed"},
		"team_heartbeat":      {"team_name": "the-team", "agent_name": "beta"},
		"team_read_inbox":     {"team_name": "the-team", "agent_name": "beta"},
	} {
		if a := hub.Op(human, hub.Catalogue.Op(name), in); a.Status != 200 {
			t.Errorf("%s: got %s, want 200", name, a)
		}
	}
}

func TestCallsWithOneIdempotencyKeyTakeEffectOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
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
			clock.Pass(23 * time.Hour)
			for name, again := range map[string]hubtest.Answer{
				"by the header": hub.REST(key, "POST", path, in, "Idempotency-Key", "once"),
				"by the field":  hub.REST(key, "POST", path, with(args{"idempotencyKey": "once"})),
				"by both": hub.REST(key, "POST", path, with(args{"idempotencyKey": "once"}),
					"Idempotency-Key", "once"),
				"by the query": hub.REST(key, "POST", path+"?idempotencyKey=once", in),
				"with a null field": hub.REST(key, "POST", path, with(args{"priority": nil}),
					"Idempotency-Key", "once"),
			} {
				if again.Status != 201 || !bytes.Equal(again.Data(), first.Data()) {
					t.Errorf("%s %s: got %s, want the first answer %s", path, name, again, first)
				}
			}
			a := hub.REST(key, "POST", path, with(args{"threadId": "another"}), "Idempotency-Key", "once")
			if f := a.Fault(); a.Status != 409 || f.Code != "FAILED_PRECONDITION" ||
				!strings.Contains(f.Message, `"once"`) {
				t.Errorf("%s with another input: got %s, want 409", path, a)
			}
			a = hub.REST(key, "POST", path, with(args{"idempotencyKey": "one"}), "Idempotency-Key", "two")
			if a.Status != 400 || !strings.Contains(a.Fault().Message, "idempotencyKey: is given twice") {
				t.Errorf("%s with two keys: got %s, want 400", path, a)
			}
			if a := hub.REST(key, "POST", path, in, "Idempotency-Key", strings.Repeat("k", 101)); a.Status != 400 ||
				!strings.Contains(a.Fault().Message, "idempotencyKey: must be at most 100") {
				t.Errorf("%s with a long key: got %s, want 400", path, a)
			}
			clock.Pass(time.Hour)
			if a := hub.REST(key, "POST", path, in, "Idempotency-Key", "once"); a.Status != 201 ||
				bytes.Equal(a.Data(), first.Data()) {
				t.Errorf("%s a day later: got %s, want another", path, a)
			}
		}
		// Over MCP the field has the same effect, and both transports share the keys.
		first := hub.REST(key, "POST", "/v1/tasks", args{"title": "shared", "target": "alpha"},
			"Idempotency-Key", "shared")
		again := hub.Tool(key, "/mcp", "create_task",
			args{"title": "shared", "target": "alpha", "idempotencyKey": "shared"})
		if !bytes.Equal(first.Data(), again.Structured) {
			t.Errorf("over MCP: got %s, want %s", again.Answer, first)
		}
		// An operation without idempotency ignores the header.
		if a := hub.REST(key, "GET", "/v1/tasks", nil, "Idempotency-Key", "once"); a.Status != 200 {
			t.Errorf("a read with the header: got %s, want 200", a)
		}
	})
}

func TestConcurrentCallsWithOneIdempotencyKeyCreateOneTask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key := hub.Agent("u", "alpha")
		var mu sync.Mutex
		ids := map[string]int{}
		var all sync.WaitGroup
		for range 4 { // with more the emulator takes minutes
			all.Go(func() {
				for range 20 { // after CONFLICT a call may be repeated
					a, err := hub.Try(t.Context(), "POST", "/v1/tasks",
						args{"title": "t", "target": "alpha", "idempotencyKey": "k"}, "Authorization", "Bearer "+key)
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
				t.Error("20 calls in a row ended in CONFLICT")
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
	agent, human := hub.Agent("u", "alpha"), hub.Human("u")
	admin := hub.Key("u", keys.CreateInput{Scopes: []string{"admin"}})
	var asked struct{ QuestionID string }
	hubtest.Must(t, hub.REST(agent, "POST", "/v1/questions", args{"question": "q"}).Into(&asked))
	path := "/v1/questions/" + asked.QuestionID
	for name, key := range map[string]string{"an agent": agent, "an admin": admin} {
		if a := hub.REST(key, "POST", path+"/answer", args{"response": "mine"}); a.Status != 403 ||
			a.Fault().Code != "FORBIDDEN" || !strings.Contains(a.Fault().Message, "for a human") {
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
	if err := hub.REST(agent, "GET", path+"/response", nil).Into(&got); err != nil || got.Status != "answered" ||
		got.Response != "yes" {
		t.Errorf("got %+v, %v; want the answer", got, err)
	}
}

func TestAConvertedInputIsReported(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	in := args{"title": 7, "target": "alpha", "ttl": "60", "fallback": "beta"}
	a := hub.REST(key, "POST", "/v1/tasks", in)
	want := []string{"fallback was read as the list [beta]", "title was read as the text 7",
		"ttl was read as the number 60"}
	if a.Status != 201 || !slices.Equal(a.Meta().Coerced, want) {
		t.Errorf("got %s, want %q", a, want)
	}
	m := hub.Tool(key, "/mcp", "create_task", in)
	if len(m.Texts) != 2 || m.Texts[1] != "Note: "+strings.Join(want, "; ") {
		t.Errorf("over MCP: got the texts %q, want the same in a note", m.Texts)
	}
	if a := hub.REST(key, "GET", "/v1/tasks?limit=5&includeInstructions=false", nil); a.Status != 200 ||
		len(a.Meta().Coerced) != 0 {
		t.Errorf("a query: got %s, want no note, because its values are text", a)
	}
}

func TestTheAnswerForAnEmptyInboxIsSmall(t *testing.T) {
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
		if a.Status != 200 || !strings.Contains(string(a.Body), `"messages":[]`) &&
			!strings.Contains(string(a.Body), `\"messages\":[]`) || len(a.Body) >= limit {
			t.Errorf("%s: got %d bytes, want fewer than %d: %s", name, len(a.Body), limit, a)
		}
		t.Logf("%s: %s bytes", name, strconv.Itoa(len(a.Body)))
	}
}

// The operations that need no key take a secret in their place.
func TestAnOpenOperationTakesNoFieldFromTheAddress(t *testing.T) {
	t.Parallel()
	h := newHub(t, hubtest.Options{})
	made := h.NewKey("user", keys.CreateInput{Program: "beta"})
	a := h.REST("", http.MethodPost, "/v1/keys/revoke?key="+made.Key, nil)
	if f := a.Fault(); a.Status != http.StatusBadRequest || len(f.Details) != 1 || f.Details[0].Path != "key" {
		t.Errorf("with the key in the query: got %s, want 400 for the field key", a)
	}
	if a := h.REST(made.Key, http.MethodGet, "/v1/tasks", nil); a.Status != http.StatusOK {
		t.Errorf("the key was revoked: %s", a)
	}
	if a := h.REST("", http.MethodPost, "/v1/keys/revoke", map[string]any{"key": made.Key}); a.Status != http.StatusOK {
		t.Errorf("with the key in the body: got %s", a)
	}
}
