package hubtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"parley.internal/services/hub/internal/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

// budget is how many RPCs a call may make at most, the last section of spec/grid.md;
// what is not named may make three. Caches are warm, and nobody contends.
var budget = map[string]int{
	"create_task": 1, "get_tasks": 1, "send_message": 1, "get_messages": 2, "get_response": 1, "ask_question": 1,
	"update_session": 2, "list_sessions": 2,
}

const anyBudget = 3

// spent is a call to measure: it is made with what prepare returns.
type spent struct {
	name, op string
	human    bool
	prepare  func(m *meter) args
}

// spending uses every operation, at its dearest first.
var spending = []spent{
	{"", "create_task", false, func(*meter) args { return args{"title": "t", "target": "alpha"} }},
	{"with an idempotency key", "create_task", false, func(m *meter) args { return args{"title": "t", "target": "alpha", "idempotencyKey": "k"} }},
	{"", "get_tasks", false, func(*meter) args { return args{} }},
	{"for a program", "get_tasks", false, func(*meter) args { return args{"target": "alpha", "status": "all", "limit": 50} }},
	{"", "get_task", false, func(m *meter) args { return args{"taskId": m.task()} }},
	{"of a claimed task", "get_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"", "claim_task", false, func(m *meter) args { return args{"taskId": m.task()} }},
	{"of what is claimed", "claim_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"", "renew_claim", false, func(m *meter) args { return args{"taskId": m.claimed(), "claimToken": 1} }},
	{"", "release_task", false, func(m *meter) args { return args{"taskId": m.claimed(), "claimToken": 1} }},
	{"", "complete_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"", "send_message", false, func(*meter) args {
		return args{"message": "m", "source": "alpha", "target": "beta", "message_type": "PING"}
	}},
	{"to nobody", "send_message", false, func(*meter) args {
		return args{"message": "m", "source": "alpha", "target": "nobody", "message_type": "PING"}
	}},
	{"of nothing", "get_messages", false, func(*meter) args { return args{} }},
	{"with messages", "get_messages", false, func(m *meter) args { m.message(); m.message(); return args{} }},
	{"peeking", "get_messages", false, func(m *meter) args { m.message(); return args{"markAsRead": false} }},
	{"of the history", "get_messages", false, func(m *meter) args { return args{"includeDelivered": true} }},
	{"", "ack_messages", false, func(m *meter) args { return args{"messageIds": []string{m.message(), m.message(), "nobody-made-this"}} }},
	{"", "ask_question", false, func(*meter) args { return args{"question": "q"} }},
	{"", "get_response", false, func(m *meter) args { return args{"questionId": m.question()} }},
	{"", "answer_question", true, func(m *meter) args { return args{"questionId": m.question(), "response": "r"} }},
	{"", "list_questions", true, func(*meter) args { return args{"status": "all"} }},
	{"", "team_create", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_read_config", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_delete", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "create_key", true, func(*meter) args { return args{"program": "gamma"} }},
	{"", "list_keys", true, func(*meter) args { return args{} }},
	{"", "revoke_key", true, func(m *meter) args { return args{"keyId": m.key()} }},
}

func TestACallKeepsToItsBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	measured := map[string]bool{}
	for _, s := range spending {
		o := m.hub.Catalogue.Op(s.op)
		measured[s.op] = true
		key := m.agent
		if s.human {
			key = m.human
		}
		in := s.prepare(m)
		m.hub.Settle()
		before := m.rpcs()
		var failed bool
		var answer hubtest.Answer
		if o.RESTOnly {
			answer = m.hub.Op(key, o, in)
			failed = answer.Status >= 500
		} else {
			a := m.hub.Tool(key, everything, s.op, in)
			answer, failed = a.Answer, a.Err != nil || (a.IsError && a.Fault().Code != "FAILED_PRECONDITION")
		}
		after := m.rpcs()
		if failed {
			t.Errorf("%s %s: %s", s.op, s.name, answer)
		}
		allowed, named := budget[s.op]
		if !named {
			allowed = anyBudget
		}
		if strings.Contains(s.name, "idempotency") {
			allowed = anyBudget // the key has to be read
		}
		made := map[string]int{}
		n := 0
		for method, count := range after {
			// A transaction that wrote nothing is rolled back off the path of the call.
			if d := count - before[method]; d > 0 && method != "Rollback" {
				made[method] = d
				n += d
			}
		}
		if n > allowed || n == 0 {
			t.Errorf("%s %s made %d RPCs, want at most %d: %v", s.op, s.name, n, allowed, made)
		}
		t.Logf("%s %s: %d of %d %v", s.op, s.name, n, allowed, made)
	}
	for _, o := range m.hub.Catalogue.Ops() {
		if !measured[o.Name] {
			t.Errorf("%s: say how it is measured", o.Name)
		}
	}
}

func TestAnInboxReadTouchesThatProgramsDueMessagesOnly(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	beta := m.hub.Agent("u", "beta")
	send := func(target, text string) {
		if a := m.hub.REST(m.agent, "POST", "/v1/messages", args{"message": text, "source": "alpha", "target": target, "message_type": "STATUS"}); a.Status != 201 {
			t.Fatal(a)
		}
	}
	for i := range 20 {
		send("gamma", fmt.Sprint("another's ", i))
		send("beta", fmt.Sprint("read before ", i))
	}
	if a := m.hub.REST(beta, "GET", "/v1/messages?limit=100", nil); strings.Count(string(a.Body), "read before") != 20 {
		t.Fatalf("got %s, want 20 messages", a)
	}
	for _, text := range []string{"new 1", "new 2", "new 3"} {
		send("beta", text)
	}
	for _, c := range []struct {
		path string
		want int
	}{
		{"/v1/messages?markAsRead=false", 3}, {"/v1/messages?markAsRead=false&limit=2", 2}, {"/v1/messages?limit=1", 1}, {"/v1/messages", 2}, {"/v1/messages", 0},
	} {
		m.hub.Settle()
		m.forget()
		if a := m.hub.REST(beta, "GET", c.path, nil); a.Status != 200 || strings.Count(string(a.Body), `"new `) != c.want {
			t.Errorf("%s: got %s, want %d messages", c.path, a, c.want)
		}
		read := slices.DeleteFunc(m.documents(), func(name string) bool { return !strings.Contains(name, "/relay/") })
		if len(read) != c.want {
			t.Errorf("%s read %d messages, want %d", c.path, len(read), c.want)
		}
	}
}

// meter is a hub on Firestore whose RPCs are counted.
type meter struct {
	t            *testing.T
	hub          *hubtest.Hub
	agent, human string
	rpcs         func() map[string]int

	mu   sync.Mutex
	read []string
}

func newMeter(t *testing.T) *meter {
	t.Helper()
	m := &meter{t: t}
	dial, rpcs := firestore.CountRPCs()
	dial = append(dial, grpc.WithChainStreamInterceptor(m.watch))
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: dial})
	must(t, err)
	db := store.New(d, app.Schema())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m.rpcs = func() map[string]int { return maps.Clone(rpcs()) }
	m.hub = hubtest.New(t, db, hubtest.Options{Now: hubtest.NewClock().Now})
	m.agent, m.human = m.hub.Agent("u", "alpha"), m.hub.Human("u")
	// The first calls warm the caches: who the keys are, and which programs there are.
	m.message()
	m.must(m.hub.REST(m.agent, "GET", "/v1/messages", nil))
	m.must(m.hub.REST(m.human, "GET", "/v1/questions", nil))
	m.hub.Settle()
	return m
}

func (m *meter) must(a hubtest.Answer) hubtest.Answer {
	m.t.Helper()
	if a.Status >= 300 {
		m.t.Fatal(a)
	}
	return a
}

// watch keeps the names of the documents that come back.
func (m *meter) watch(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := stream(ctx, desc, cc, method, opts...)
	return &watched{s, m}, err
}

type watched struct {
	grpc.ClientStream
	m *meter
}

// RecvMsg implements grpc.ClientStream.
func (w *watched) RecvMsg(v any) error {
	err := w.ClientStream.RecvMsg(v)
	name := ""
	switch r := v.(type) {
	case *firestorepb.RunQueryResponse:
		name = r.GetDocument().GetName()
	case *firestorepb.BatchGetDocumentsResponse:
		name = r.GetFound().GetName()
	}
	if err == nil && name != "" {
		w.m.mu.Lock()
		defer w.m.mu.Unlock()
		w.m.read = append(w.m.read, name)
	}
	return err
}

func (m *meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = nil
}

func (m *meter) documents() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.read)
}

func (m *meter) make(o *op.Op, key string, in args) map[string]any {
	m.t.Helper()
	var made map[string]any
	must(m.t, m.hub.Op(key, o, in).Into(&made))
	return made
}

func (m *meter) made(name, field string, in args) string {
	m.t.Helper()
	key := m.agent
	if name == "create_key" {
		key = m.human
	}
	id, ok := m.make(m.hub.Catalogue.Op(name), key, in)[field].(string)
	if !ok {
		m.t.Fatalf("%s gave no %s", name, field)
	}
	return id
}

func (m *meter) task() string {
	return m.made("create_task", "taskId", args{"title": "t", "target": "alpha"})
}

func (m *meter) claimed() string { return m.made("claim_task", "id", args{"taskId": m.task()}) }

func (m *meter) message() string {
	return m.made("send_message", "messageId", args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "QUERY"})
}

func (m *meter) question() string { return m.made("ask_question", "questionId", args{"question": "q"}) }

func (m *meter) key() string { return m.made("create_key", "id", args{"program": "gamma"}) }
