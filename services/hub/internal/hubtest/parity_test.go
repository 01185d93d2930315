package hubtest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/hubtest"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

// everything is the endpoint that serves all toolsets.
const everything = "/mcp?toolsets=all"

// step is a call that both transports make. A text "$x" stands for what an
// earlier step saved as x.
type step struct {
	op, who string
	args    args
	fault   string // the code; empty for success
	save    string // "taskId as task"
}

// conversation uses every operation, well and badly. The steps build on each other.
var conversation = []step{
	{op: "get_tasks", args: args{}},
	{op: "create_task", args: args{"title": "a ✓ title", "target": "alpha", "instructions": "do <this> & \"that\"\n", "priority": "high", "action": "interrupt",
		"source": "alpha", "projectId": "p", "ttl": 3600, "replyTo": "r", "threadId": "th", "fallback": []string{"beta", "gamma"},
		"provenance": args{"model": "m", "cost_tokens": 12.5, "confidence": 0.5}}, save: "taskId as task"},
	{op: "create_task", args: args{"title": "a dream", "target": "any", "type": "dream", "priority": "low",
		"dream": args{"agent": "alpha", "budget_cap_usd": 2.5, "branch": "b", "timeout_hours": 1}}, save: "taskId as dream"},
	{op: "create_task", args: args{"title": "once", "target": "beta", "idempotencyKey": "k1"}, save: "taskId as once"},
	{op: "create_task", args: args{"title": "once", "target": "beta", "idempotencyKey": "k1"}},
	{op: "create_task", args: args{"title": "another", "target": "beta", "idempotencyKey": "k1"}, fault: "FAILED_PRECONDITION"},
	{op: "create_task", args: args{"title": "not mine", "target": "beta", "source": "beta"}, fault: "FORBIDDEN"},
	{op: "create_task", args: args{"title": strings.Repeat("x", 201), "target": "-", "ttl": -1, "priority": "urgent", "surprise": 1,
		"fallback": []any{"ok", 7, "not ok"}, "provenance": args{"confidence": 2}}, fault: "INVALID_ARGUMENT"},
	{op: "create_task", args: args{"title": "t", "target": "alpha", "dream": args{"agent": "a"}}, fault: "INVALID_ARGUMENT"},
	{op: "get_tasks", args: args{"target": "alpha", "limit": 1}, save: "nextCursor as cursor"},
	{op: "get_tasks", args: args{"target": "alpha", "limit": 1, "cursor": "$cursor"}},
	{op: "get_tasks", args: args{"target": "beta", "includeInstructions": false, "status": "all", "type": "task", "source": "alpha"}},
	{op: "get_tasks", args: args{"cursor": "$cursor"}, fault: "INVALID_ARGUMENT"},
	{op: "get_tasks", args: args{"limit": -1, "waitMs": 55001, "status": "new", "tpye": "task"}, fault: "INVALID_ARGUMENT"},
	{op: "get_task", args: args{"taskId": "$task"}},
	{op: "get_task", args: args{"taskId": "nobody-made-this"}, fault: "NOT_FOUND"},
	{op: "get_task", args: args{"taskId": "-no id-"}, fault: "INVALID_ARGUMENT"},
	{op: "claim_task", args: args{"taskId": "$task", "sessionId": "alpha.1", "leaseSeconds": 60}, save: "claimToken as token"},
	{op: "claim_task", args: args{"taskId": "$task", "sessionId": "alpha.1"}},
	{op: "claim_task", args: args{"taskId": "$task", "sessionId": "alpha.2"}, fault: "FAILED_PRECONDITION"},
	{op: "claim_task", args: args{"taskId": "$once"}, fault: "FORBIDDEN"},
	{op: "claim_task", args: args{"taskId": "$task", "leaseSeconds": 29}, fault: "INVALID_ARGUMENT"},
	{op: "get_task", args: args{"taskId": "$task"}},
	{op: "renew_claim", args: args{"taskId": "$task", "claimToken": "$token", "leaseSeconds": 120}},
	{op: "renew_claim", args: args{"taskId": "$task", "claimToken": 77}, fault: "FAILED_PRECONDITION"},
	{op: "renew_claim", args: args{"taskId": "$task"}, fault: "INVALID_ARGUMENT"},
	{op: "release_task", args: args{"taskId": "$task", "claimToken": 77}, fault: "FAILED_PRECONDITION"},
	{op: "release_task", args: args{"taskId": "$task", "claimToken": "$token", "reason": "tired"}},
	{op: "release_task", args: args{"taskId": "$task", "claimToken": "$token"}, fault: "FAILED_PRECONDITION"},
	{op: "claim_task", args: args{"taskId": "$task"}, save: "claimToken as token"},
	{op: "complete_task", args: args{"taskId": "$task", "claimToken": 1}, fault: "FAILED_PRECONDITION"},
	{op: "complete_task", args: args{"taskId": "$task", "outcome": "maybe", "cost_usd": -1}, fault: "INVALID_ARGUMENT"},
	{op: "complete_task", args: args{"taskId": "$task", "claimToken": "$token", "result": "42", "tokens_in": 10, "tokens_out": 20, "cost_usd": 0.01}},
	{op: "complete_task", args: args{"taskId": "$task", "claimToken": "$token", "result": "42", "tokens_in": 10, "tokens_out": 20, "cost_usd": 0.01}},
	{op: "get_tasks", args: args{"status": "done"}},

	{op: "get_messages", args: args{}},
	{op: "send_message", args: args{"message": "hello <b>", "source": "alpha", "target": "alpha", "message_type": "DIRECTIVE", "priority": "high",
		"action": "queue", "context": "c", "sessionId": "s.1", "reply_to": "r", "threadId": "th", "ttl": 60, "provenance": args{"model": "m"}, "idempotencyKey": "k1"},
		save: "messageId as message"},
	{op: "send_message", args: args{"message": "who is there", "source": "alpha", "target": "nobody", "message_type": "PING"}},
	{op: "send_message", args: args{"message": "m", "source": "beta", "target": "alpha", "message_type": "PING"}, fault: "FORBIDDEN"},
	{op: "send_message", args: args{"message": "m", "source": "alpha", "target": "group:x", "message_type": "PING"}, fault: "NOT_FOUND"},
	{op: "send_message", args: args{"source": "alpha", "target": "a b", "message_type": "SHOUT"}, fault: "INVALID_ARGUMENT"},
	{op: "get_messages", args: args{"markAsRead": false, "priority": "high"}},
	{op: "get_messages", args: args{"waitMs": 55000, "sessionId": "alpha.1", "threadId": "th", "message_type": "DIRECTIVE"}},
	{op: "get_messages", args: args{"includeDelivered": true, "limit": 1}, save: "nextCursor as cursor"},
	{op: "get_messages", args: args{"includeDelivered": true, "limit": 1, "cursor": "$cursor"}},
	{op: "get_messages", args: args{"cursor": "$cursor"}, fault: "INVALID_ARGUMENT"},
	{op: "get_messages", args: args{"limit": 0, "markAsRead": "maybe"}, fault: "INVALID_ARGUMENT"},
	{op: "get_messages", args: args{"target": "beta"}, fault: "FORBIDDEN"},
	{op: "get_messages", who: "human", args: args{}, fault: "INVALID_ARGUMENT"},
	{op: "ack_messages", args: args{"messageIds": []string{"$message", "nobody-made-this"}}},
	{op: "ack_messages", args: args{"messageIds": []string{"$message", "$message"}}},
	{op: "ack_messages", args: args{"messageIds": []string{}}, fault: "INVALID_ARGUMENT"},
	{op: "ack_messages", args: args{"messageIds": []string{"a/b", ""}}, fault: "INVALID_ARGUMENT"},

	{op: "ask_question", args: args{"question": "shall I?", "options": []string{"yes", "no"}, "context": "c", "priority": "high", "threadId": "th",
		"inReplyTo": "r", "projectId": "p", "ttl": 60, "idempotencyKey": "k1"}, save: "questionId as question"},
	{op: "ask_question", args: args{"question": "", "options": []string{"1", "2", "3", "4", "5", "6"}}, fault: "INVALID_ARGUMENT"},
	{op: "get_response", args: args{"questionId": "$question"}},
	{op: "get_response", args: args{"questionId": "nobody-made-this"}, fault: "NOT_FOUND"},
	{op: "list_questions", who: "human", args: args{"status": "pending", "limit": 1}},
	{op: "list_questions", who: "human", args: args{"status": "open"}, fault: "INVALID_ARGUMENT"},
	{op: "list_questions", args: args{}, fault: "FORBIDDEN"},
	{op: "answer_question", args: args{"questionId": "$question", "response": "yes"}, fault: "FORBIDDEN"},
	{op: "answer_question", who: "human", args: args{"questionId": "$question"}, fault: "INVALID_ARGUMENT"},
	{op: "answer_question", who: "human", args: args{"questionId": "$question", "response": "yes"}},
	{op: "answer_question", who: "human", args: args{"questionId": "$question", "response": "no"}, fault: "FAILED_PRECONDITION"},
	{op: "get_response", args: args{"questionId": "$question", "waitMs": 55000}},
	{op: "list_questions", who: "human", args: args{"status": "all"}},

	{op: "team_create", args: args{"team_name": "the-team", "description": "d"}},
	{op: "team_create", args: args{"team_name": "no team!"}, fault: "INVALID_ARGUMENT"},
	{op: "team_create", args: args{"team_name": "the-second"}, fault: "FAILED_PRECONDITION"},
	{op: "team_read_config", args: args{"team_name": "the-team"}},
	{op: "team_read_config", args: args{"team_name": "no-team"}, fault: "NOT_FOUND"},
	{op: "team_delete", args: args{"team_name": "no-team"}, fault: "NOT_FOUND"},
	{op: "team_delete", args: args{"team_name": "the-team"}},

	{op: "create_key", who: "human", args: args{"name": "n", "program": "gamma", "scopes": []string{"write", "read", "relay"}, "expires": 3600}, save: "id as key"},
	{op: "create_key", who: "human", args: args{"scopes": []string{"everything"}}, fault: "INVALID_ARGUMENT"},
	{op: "create_key", args: args{"name": "n"}, fault: "FORBIDDEN"},
	{op: "list_keys", who: "human", args: args{"limit": 2}, save: "nextCursor as cursor"},
	{op: "list_keys", who: "human", args: args{"limit": 2, "cursor": "$cursor"}},
	{op: "list_keys", who: "human", args: args{"limit": 101}, fault: "INVALID_ARGUMENT"},
	{op: "list_keys", args: args{}, fault: "FORBIDDEN"},
	{op: "revoke_key", who: "human", args: args{"keyId": "$key"}},
	{op: "revoke_key", who: "human", args: args{"keyId": "$key"}},
	{op: "revoke_key", who: "human", args: args{"keyId": "nobody-made-this"}, fault: "NOT_FOUND"},
	{op: "revoke_key", args: args{"keyId": "$key"}, fault: "FORBIDDEN"},
}

func TestACallMeansTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		overREST, overMCP := newSide(t, db, "rest"), newSide(t, db, "mcp")
		for i, s := range conversation {
			o := overREST.hub.Catalogue.Op(s.op)
			if o == nil {
				t.Fatalf("step %d: there is no operation %s", i, s.op)
			}
			a := overREST.rest(t, o, s)
			b := overMCP.rest
			if !o.RESTOnly {
				b = overMCP.mcp
			}
			if got := b(t, o, s); got != a {
				t.Errorf("step %d: %s %v:\nREST %s\nMCP  %s", i, s.op, s.args, a, got)
			}
			if !strings.HasPrefix(a, s.fault+" ") {
				t.Errorf("step %d: %s %v: got %s, want %q", i, s.op, s.args, a, s.fault)
			}
		}
	})
}

func TestTheConversationUsesEveryOperationWellAndBadly(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	for _, o := range hub.Catalogue.Ops() {
		well, badly := false, false
		for _, s := range conversation {
			well = well || (s.op == o.Name && s.fault == "")
			badly = badly || (s.op == o.Name && s.fault != "")
		}
		if !well || !badly {
			t.Errorf("%s: the conversation has it well: %t, badly: %t; add steps", o.Name, well, badly)
		}
	}
}

func TestWhatIsForRESTOnlyIsNoTool(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	human := hub.Human("u")
	n := 0
	for _, o := range hub.Catalogue.Ops() {
		if !o.RESTOnly {
			continue
		}
		n++
		for _, path := range []string{everything, "/mcp/x/" + o.Toolset} {
			if a := hub.Tool(human, path, o.Name, args{}); a.Err == nil || a.Err.Code != -32602 || !strings.Contains(a.Err.Message, o.Name) {
				t.Errorf("%s on %s: got %s, want the protocol's error that names it", o.Name, path, a.Answer)
			}
		}
	}
	if n == 0 {
		t.Error("the catalogue has no operation for REST only; is the mark gone?")
	}
}

// side is one of two users who have the same conversation. Ids and times are the
// same for both.
type side struct {
	hub   *hubtest.Hub
	clock *hubtest.Clock
	keys  map[string]string
	saved map[string]any
	seen  map[string]string
}

func newSide(t *testing.T, db *store.DB, user string) *side {
	t.Helper()
	s := &side{clock: hubtest.NewClock(), keys: map[string]string{}, saved: map[string]any{}, seen: map[string]string{}}
	n := 0
	s.hub = hubtest.New(t, db, hubtest.Options{Now: s.clock.Now, NewID: func() string {
		n++
		return fmt.Sprintf("%08d-0000-7000-8000-000000000000", n)
	}})
	s.keys[""] = s.hub.Agent(user, "alpha")
	s.clock.Add(time.Second)
	s.keys["human"] = s.hub.Human(user)
	return s
}

func (s *side) rest(t *testing.T, o *op.Op, st step) string {
	t.Helper()
	s.tick()
	a := s.hub.Op(s.keys[st.who], o, s.fill(st.args).(args))
	s.hub.Settle()
	if st.fault != "" {
		return s.told(t, a.Fault(), a)
	}
	if want := 200 + map[bool]int{true: 1}[o.Creates]; a.Status != want {
		t.Errorf("%s: got %s, want the status %d", st.op, a, want)
	}
	return s.made(t, st, a.Data())
}

func (s *side) mcp(t *testing.T, o *op.Op, st step) string {
	t.Helper()
	s.tick()
	a := s.hub.Tool(s.keys[st.who], everything, o.Name, s.fill(st.args))
	s.hub.Settle()
	if a.Status != 200 || a.Err != nil || len(a.Texts) == 0 || a.IsError != (st.fault != "") {
		t.Errorf("%s: got %s, want a result with text, isError %t", st.op, a.Answer, st.fault != "")
		return ""
	}
	if st.fault != "" {
		f := a.Fault()
		if !strings.HasPrefix(a.Texts[0], f.Code+": "+f.Message) {
			t.Errorf("%s: the text %q does not tell the fault %+v", st.op, a.Texts[0], f)
		}
		return s.told(t, f, a.Answer)
	}
	if len(a.Texts) != 1 || !reflect.DeepEqual(decode(t, []byte(a.Texts[0])), decode(t, a.Structured)) {
		t.Errorf("%s: the text %q is not the structured content %s", st.op, a.Texts, a.Structured)
	}
	return s.made(t, st, a.Structured)
}

// tick makes each step later than the one before.
func (s *side) tick() { s.clock.Add(time.Second) }

func (s *side) told(t *testing.T, e rest.Error, a hubtest.Answer) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if e.Message == "" || e.Details == nil {
		t.Errorf("got %s, want a fault with a message and details", a)
	}
	return e.Code + " " + s.plain(string(text))
}

func (s *side) made(t *testing.T, st step, data []byte) string {
	t.Helper()
	m, ok := decode(t, data).(map[string]any)
	if !ok {
		t.Errorf("%s: got %s, want an object", st.op, data)
		return ""
	}
	if field, as, ok := strings.Cut(st.save, " as "); ok {
		if s.saved[as] = m[field]; m[field] == nil {
			t.Fatalf("%s: %s has no %s", st.op, data, field)
		}
	}
	text, err := json.Marshal(m) // names in order
	if err != nil {
		t.Fatal(err)
	}
	return " " + s.plain(string(text))
}

// fill puts what was saved in the place of its name.
func (s *side) fill(v any) any {
	switch x := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(x, "$"); ok {
			return s.saved[name]
		}
	case []string:
		out := []any{}
		for _, e := range x {
			out = append(out, s.fill(e))
		}
		return out
	case args:
		out := args{}
		for name, e := range x {
			out[name] = s.fill(e)
		}
		return out
	}
	return v
}

var secrets = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}|[0-9a-f]{64}|key:[0-9a-f]{12}|eyJ[A-Za-z0-9_-]{20,}`)

// plain names secrets, their hashes and cursors by the order in which they came.
func (s *side) plain(text string) string {
	return secrets.ReplaceAllStringFunc(text, func(secret string) string {
		if s.seen[secret] == "" {
			s.seen[secret] = fmt.Sprintf("secret%d", len(s.seen))
		}
		return s.seen[secret]
	})
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
