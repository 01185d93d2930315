package hubtest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// fixture is a hub with a user and an object of each kind that a bad input could change.
type fixture struct {
	hub                                    *hubtest.Hub
	agent, human                           string
	task, session, sprint, cursor, process string
}

func newFixture(t *testing.T, db *store.DB) *fixture {
	t.Helper()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
	fx := &fixture{hub: hub, agent: hub.Agent("u", "alpha"), human: hub.Human("u")}
	var made struct {
		TaskID, SessionID, SprintID, NextCursor string
		ProcessID                               string `json:"process_id"`
	}
	call := func(key, method, path string, in any) {
		t.Helper()
		hubtest.Must(t, hub.REST(key, method, path, in).Into(&made))
	}
	for range 2 {
		call(fx.agent, "POST", "/v1/tasks", args{"title": "t", "target": "alpha"})
	}
	fx.task = made.TaskID
	call(fx.agent, "POST", "/v1/messages",
		args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "PING"})
	call(fx.agent, "POST", "/v1/questions", args{"question": "q"})
	call(fx.agent, "POST", "/v1/alerts", args{"message": "m"})
	call(fx.agent, "POST", "/v1/tasks", args{"title": "t", "target": "any", "type": "dream"})
	call(fx.agent, "POST", "/v1/sessions", args{"name": "n"})
	call(fx.agent, "POST", "/v1/sprints", args{"projectName": "p", "branch": "b",
		"stories": []any{args{"id": "a", "title": "t"}, args{"id": "b", "title": "t"}}})
	call(fx.agent, "PUT", "/v1/groups/crew", args{"members": []string{"alpha"}})
	fx.session, fx.sprint = made.SessionID, made.SprintID
	call(fx.agent, "POST", "/v1/teams", args{"team_name": "crew"})
	call(fx.agent, "POST", "/v1/teams/crew/members", args{"name": "beta", "prompt": "p"})
	fx.process = made.ProcessID
	call(fx.agent, "POST", "/v1/teams/crew/processes/"+fx.process+"/claim", args{"runner": "r"})
	call(fx.agent, "POST", "/v1/teams/crew/tasks",
		args{"subject": "s", "description": "d", "metadata": args{"k": "a value"}})
	// A dead letter: the message expires before its recipient reads it.
	call(fx.agent, "POST", "/v1/messages",
		args{"message": "m", "source": "alpha", "target": "beta", "message_type": "PING", "ttl": 1})
	clock.Pass(2 * time.Second)
	call(fx.human, "GET", "/v1/messages?target=beta", nil)
	call(fx.agent, "GET", "/v1/tasks?limit=1", nil)
	fx.cursor = made.NextCursor
	if fx.cursor == "" {
		t.Fatal("the first page of two tasks has no cursor")
	}
	return fx
}

// lists returns every list of the user's objects, without the times at which keys were used.
func (fx *fixture) lists(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"/v1/tasks?status=all&limit=50",
		"/v1/messages?target=alpha&includeDelivered=true",
		"/v1/messages?target=alpha&markAsRead=false",
		"/v1/questions?status=all",
		"/v1/keys?limit=100",
		"/v1/tasks?status=all&type=alert",
		"/v1/tasks?status=all&type=sprint",
		"/v1/sprints/" + fx.sprint,
		"/v1/dreams",
		"/v1/sessions?includeArchived=true",
		"/v1/groups",
		"/v1/messages/dead",
		"/v1/teams/crew",
		"/v1/teams/crew/tasks",
		"/v1/teams/crew/processes",
		"/v1/teams/crew/inboxes/beta?mark_as_read=false",
		"/v1/teams/crew/inboxes/team-lead?mark_as_read=false",
	} {
		a := fx.hub.REST(fx.human, "GET", path, nil)
		if a.Status != 200 {
			t.Fatalf("%s: %s", path, a)
		}
		b.Write(lastUse.ReplaceAll(a.Data(), nil))
		b.WriteByte('\n')
	}
	return b.String()
}

// names checks that a fault is INVALID_ARGUMENT and says the words, in its message and in its details of a path.
func names(t *testing.T, what string, f rest.Error, path, words string) {
	t.Helper()
	if f.Code != fault.Invalid.Code() || !strings.Contains(f.Message, words) {
		t.Errorf("%s: got %+v, want INVALID_ARGUMENT that says %q", what, f, words)
	}
	if !slices.ContainsFunc(f.Details, func(p fault.Problem) bool {
		return p.Path == path && strings.Contains(p.Message, words)
	}) {
		t.Errorf("%s: got the details %+v, want the path %q and %q", what, f.Details, path, words)
	}
}

func TestMalformedRequestsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		fx := newFixture(t, db)
		before := fx.lists(t)
		for _, b := range []struct {
			name, method, path string
			body               any
			field, words       string
		}{
			{"a body that is a list", "POST", "/v1/tasks", `[]`, "", "the body must be a JSON object"},
			{"a body that is a text", "POST", "/v1/tasks", `"title"`, "", "the body must be a JSON object"},
			{"a body that is a number", "POST", "/v1/tasks", `7`, "", "the body must be a JSON object"},
			{"a body that is null", "POST", "/v1/tasks", `null`, "", "the body must be a JSON object"},
			{"a body that is cut off", "POST", "/v1/tasks", `{"title":"t","target":"a"`,
				"", "the body must be a JSON object"},
			{"a body that is two", "POST", "/v1/tasks", `{"title":"t","target":"a"}{}`,
				"", "the body must be a JSON object"},
			{"a list in a query that is one text", "GET", "/v1/sessions?state=working,blocked", nil,
				"state", "must be one of working, blocked, complete, pinned, all"},
			{"a body that is a list, with a path", "PATCH", "/v1/sprints/" + fx.sprint + "/stories/a", `["active"]`,
				"", "the body must be a JSON object"},
			{"another session in the path than in the body", "PATCH", "/v1/sessions/" + fx.session,
				`{"sessionId":"another"}`,
				"sessionId", "is given twice, with different values"},
			{"another dream in the path than in the body", "POST", "/v1/dreams/x/activate", `{"dreamId":"y"}`,
				"dreamId", "is given twice, with different values"},
			{"no dream in the body", "POST", "/v1/dreams/activate", `{}`, "dreamId", "is required"},
			{"another group in the path than in the body", "PUT", "/v1/groups/crew", `{"name":"band","members":[]}`,
				"name", "is given twice, with different values"},
			{"a story's path that is not text", "PATCH", "/v1/sprints/" + fx.sprint + "/stories/%ff", `{}`,
				"storyId", "must be valid UTF-8 text"},
			{"a form", "POST", "/v1/tasks", `title=t&target=a`, "", "the body must be a JSON object"},
			{"no body", "POST", "/v1/tasks", nil, "title", "is required"},
			{"bytes that are no text in a query", "GET", "/v1/tasks?target=%ff", nil,
				"target", "must be valid UTF-8 text"},
			{"a surrogate in a query", "GET", "/v1/tasks?target=a%ED%A0%80", nil, "target", "must be valid UTF-8 text"},
			{"bytes that are no text in a query's list", "GET", "/v1/tasks?target=a&target=%ff", nil,
				"target", "must be valid UTF-8 text"},
			{"bytes that are no text in a query's name", "GET", "/v1/tasks?%fftarget=a", nil,
				"�target", "must be valid UTF-8 text"},
			{"bytes that are no text in a path", "GET", "/v1/tasks/a%FFb", nil, "taskId", "must be valid UTF-8 text"},
			{"bytes that are no text in a path, in small letters", "GET", "/v1/tasks/a%ffb", nil,
				"taskId", "must be valid UTF-8 text"},
			{"a surrogate in a path", "POST", "/v1/tasks/%ed%a0%80/claim", `{}`, "taskId", "must be valid UTF-8 text"},
			{"half an escape in a query", "GET", "/v1/tasks?target=%zz", nil, "", "the query must be URL-encoded"},
			{"a field twice in a query", "GET", "/v1/tasks?limit=1&limit=2", nil,
				"limit", "must be of type integer, not array"},
			{"another value in the path than in the body", "POST", "/v1/tasks/" + fx.task + "/claim",
				`{"taskId":"another"}`,
				"taskId", "is given twice, with different values"},
			{"another value in the path than in the query", "GET", "/v1/tasks/" + fx.task + "?taskId=another", nil,
				"taskId", "is given twice, with different values"},
			{"another value in the query than in the body", "POST", "/v1/tasks?title=one",
				`{"title":"two","target":"a"}`,
				"title", "is given twice, with different values"},
			{"another value than the route implies", "GET", "/v1/interrupts/peek?markAsRead=true&target=alpha", nil,
				"markAsRead", "is given twice, with different values"},
		} {
			a := fx.hub.REST(fx.agent, b.method, b.path, b.body)
			if f := a.Fault(); a.Status != 400 || f.Code != "INVALID_ARGUMENT" ||
				!strings.Contains(f.Message, b.words) {
				t.Errorf("%s: got %s, want 400 and %q", b.name, a, b.words)
			}
			if b.field != "" {
				names(t, b.name, a.Fault(), b.field, b.words)
			}
		}
		for _, b := range []struct{ name, line, field, words string }{
			{"raw bytes in a path", "GET /v1/tasks/a\xffb", "taskId", "must be valid UTF-8 text"},
			{"raw bytes in a query", "GET /v1/tasks?target=\xff", "target", "must be valid UTF-8 text"},
			{"a NUL in a path", "GET /v1/tasks/a%00b", "taskId", "must match"},
		} {
			a := fx.overTCP(t, b.line)
			if a.Status != 400 {
				t.Errorf("%s: got %s, want 400", b.name, a)
			}
			names(t, b.name, a.Fault(), b.field, b.words)
		}
		for name, in := range map[string]string{"arguments that are a list": `[]`, "arguments that are a text": `"x"`} {
			a := fx.hub.MCP(fx.agent, "/mcp",
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task","arguments":`+in+`}}`)
			if a.Err == nil && !strings.Contains(string(a.Result), "must be a JSON object") {
				t.Errorf("%s: got %s, want it refused", name, a.Answer)
			}
		}
		if after := fx.lists(t); after != before {
			t.Errorf("refused calls changed data:\nbefore %s\nafter  %s", before, after)
		}
	})
}

// overTCP sends a GET request whose request line an HTTP client would refuse.
func (fx *fixture) overTCP(t *testing.T, line string) hubtest.Answer {
	t.Helper()
	conn, err := net.Dial("tcp", fx.hub.Addr())
	hubtest.Must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n",
		line, fx.hub.Addr(), fx.agent)
	hubtest.Must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	hubtest.Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	hubtest.Must(t, err)
	return hubtest.Answer{Status: res.StatusCode, Header: res.Header, Body: text}
}

func TestAFieldMayBeGivenTwiceWithTheSameValue(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, storetest.SQLite(t, app.Schema()))
	for _, c := range []struct{ name, path, body, header string }{
		{"in the path and the body", "/v1/tasks/" + fx.task + "/claim", `{"taskId":"` + fx.task + `","sessionId":"s"}`,
			""},
		{"a number in the query and the body", "/v1/tasks/" + fx.task + "/claim?leaseSeconds=60",
			`{"leaseSeconds":60,"sessionId":"s"}`, ""},
		{"in the header and the body", "/v1/tasks", `{"title":"t","target":"a","idempotencyKey":"k"}`, "k"},
		{"with signs that JSON escapes", "/v1/tasks", `{"title":"t","target":"a","idempotencyKey":"a<b>&c"}`, "a<b>&c"},
		{"escaped by the client", "/v1/tasks", `{"title":"t","target":"a","idempotencyKey":"\u006b\/2"}`, "k/2"},
		{"a list in the query and the body", "/v1/messages/ack?messageIds=a&messageIds=b", `{"messageIds": ["a", "b"]}`,
			""},
	} {
		headers := []string{}
		if c.header != "" {
			headers = []string{"Idempotency-Key", c.header}
		}
		if a := fx.hub.REST(fx.agent, "POST", c.path, c.body, headers...); a.Status != 200 && a.Status != 201 {
			t.Errorf("%s: got %s, want success", c.name, a)
		}
	}
}

func TestAPathIsUnescaped(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, storetest.SQLite(t, app.Schema()))
	escaped := fmt.Sprintf("%%%02x%s", fx.task[0], fx.task[1:])
	for _, path := range []string{"/v1/tasks/" + escaped, "/v1/tasks/" + strings.ReplaceAll(fx.task, "-", "%2D")} {
		if a := fx.hub.REST(fx.agent, "GET", path, nil); a.Status != 200 {
			t.Errorf("%s: got %s, want the task", path, a)
		}
	}
	// An id may contain a colon, which JavaScript's encodeURIComponent escapes.
	a := fx.hub.REST(fx.agent, "GET", "/v1/tasks/a%3Ab", nil)
	if f := a.Fault(); a.Status != 404 || !strings.Contains(f.Message, `"a:b"`) {
		t.Errorf("got %s, want that there is no a:b", a)
	}
}

func TestABodyIsAtMostOneMebibyte(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, storetest.SQLite(t, app.Schema()))
	before := fx.lists(t)
	big := `{"title":"t","target":"a","instructions":"` + strings.Repeat("x", rest.MaxBody) + `"}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task","arguments":` + big + `}}`
	for _, c := range []struct{ path, body string }{
		{"/v1/tasks", big}, {"/mcp", call}, {"/v1/mcp", call}, {"/mcp/x/dispatch", call},
	} {
		for what, body := range map[string]io.Reader{
			"with its length": strings.NewReader(c.body),
			"in chunks":       io.MultiReader(strings.NewReader(c.body)),
		} {
			a, err := fx.hub.Try(t.Context(), "POST", c.path, body, "Authorization", "Bearer "+fx.agent)
			if err != nil {
				t.Errorf("%s %s: %v", c.path, what, err)
				continue
			}
			if f := a.Fault(); a.Status != 413 || f.Code != "PAYLOAD_TOO_LARGE" ||
				!strings.Contains(f.Message, "1 MiB") {
				t.Errorf("%s %s: got %.300s, want 413", c.path, what, a)
			}
		}
	}
	if after := fx.lists(t); after != before {
		t.Errorf("refused calls changed data:\nbefore %s\nafter  %s", before, after)
	}
	// The largest body that is allowed reaches the check of the field.
	fits := `{"title":"t","target":"a","instructions":""}`
	fits = strings.Replace(fits, `""`, `"`+strings.Repeat("x", rest.MaxBody-len(fits))+`"`, 1)
	if a := fx.hub.REST(fx.agent, "POST", "/v1/tasks", fits); a.Status != 400 ||
		!strings.Contains(a.Fault().Message, "instructions: must be at most 32000 characters") {
		t.Errorf("got %.300s, want 400 for the field", a)
	}
}

// What a stranger sends takes none of the memory for large bodies.
func TestABodyWithoutAKeyIsAtMost32Kibibytes(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, storetest.SQLite(t, app.Schema()))
	big := `{"name":"` + strings.Repeat("x", 33<<10) + `"}`
	for what, body := range map[string]io.Reader{
		"with its length": strings.NewReader(big),
		"in chunks":       io.MultiReader(strings.NewReader(big)),
	} {
		a, err := fx.hub.Try(t.Context(), "POST", "/v1/pairings", body)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if f := a.Fault(); a.Status != 413 || f.Code != "PAYLOAD_TOO_LARGE" || !strings.Contains(f.Message, "32 KiB") {
			t.Errorf("%s: got %.300s, want 413", what, a)
		}
	}
}

func TestAMalformedMessageIsAProtocolError(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, storetest.SQLite(t, app.Schema()))
	for _, body := range []string{
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\xff\"}}",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\ud800"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/\xff\"}",
		`{"jsonrpc":"2.0","id":1,`, `7`, `"x"`, ``, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
	} {
		a := fx.hub.MCP(fx.agent, "/mcp", body)
		if a.Status != 400 || a.Err == nil || a.Err.Code >= 0 {
			t.Errorf("%q: got %s, want 400 and an error of JSON-RPC", body, a.Answer)
		}
		if !bytes.HasPrefix(a.Body, []byte(`{`)) {
			t.Errorf("%q: got %q, want a JSON-RPC message", body, a.Body)
		}
	}
}

var lastUse = regexp.MustCompile(`,?"lastUsedAt":"[^"]+"`)
