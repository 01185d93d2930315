package hubtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

// meter is a hub on Firestore whose RPCs are counted.
type meter struct {
	t            *testing.T
	hub          *hubtest.Hub
	clock        *hubtest.Clock
	agent, human string
	rpcs         func() map[string]int
	mates        int // how many teammates were spawned

	mu   sync.Mutex
	read []string
}

func newMeter(t *testing.T) *meter {
	t.Helper()
	m := &meter{t: t, clock: hubtest.NewClock()}
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
	m.hub = hubtest.New(t, db, hubtest.Options{Now: m.clock.Now})
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
	if name == "create_key" || name == "register_device" {
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

func (m *meter) device() string {
	return m.made("register_device", "deviceId", args{"token": "t", "platform": "ios"})
}

func (m *meter) council() string {
	return m.made("start_council", "session_id", args{"agent_name": "alpha", "request": "r"})
}

func (m *meter) fire(id string) string {
	return m.made("campfire_get_or_create_fire", "id", args{"fireId": id})
}

// duel is a fire with a duel in which so many have acted, the Judge first.
func (m *meter) duel(id string, acted int) string {
	steps := []struct {
		op string
		in args
	}{
		{"campfire_throw_gauntlet", args{"fireId": id, "challenger_name": "gamma", "target_name": "beta", "thesis_of_attack": "t"}},
		{"campfire_take_oath_of_judgement", args{"fireId": id, "character_name": "delta"}},
		{"campfire_strike_argument", args{"fireId": id, "character_name": "gamma", "technical_evidence": "e"}},
		{"campfire_hold_the_line", args{"fireId": id, "character_name": "beta", "defense_rationale": "r", "surrender": false}},
	}
	for _, s := range steps[:acted+1] {
		m.make(m.hub.Catalogue.Op(s.op), m.human, s.in)
	}
	return id
}

var verification = args{"target": "a.ts", "requirements": "r", "workingDir": "/w", "files": []any{args{"path": "a.ts", "content": "c"}}}

func (m *meter) verification() string {
	return m.made("elenchus_start_session", "sessionId", verification)
}

func round(id, role string) args {
	return args{"sessionId": id, "role": role, "output": "a.ts:1", "issuesRaised": []any{args{"id": "SEC-1", "severity": "HIGH", "summary": "s"}}}
}

// dead makes a dead letter: nobody reads it in time.
func (m *meter) dead() {
	m.made("send_message", "messageId", args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "STATUS", "ttl": 1})
	m.clock.Add(2 * time.Second)
	m.must(m.hub.REST(m.agent, "GET", "/v1/messages", nil))
}

func (m *meter) group() string {
	return m.made("set_group", "name", args{"name": "crew", "members": []string{"alpha", "beta", "gamma"}})
}

func (m *meter) session() string { return m.made("create_session", "sessionId", args{"name": "n"}) }

func (m *meter) dream() string {
	return m.made("create_task", "taskId", args{"title": "t", "target": "alpha", "type": "dream"})
}

// stories are n of them in one wave, each of which waits for the one before, and has
// its human alerted where it fails.
func stories(n int) []any {
	out := make([]any, n)
	for i := range out {
		s := args{"id": fmt.Sprint("s", i), "title": "t"}
		if i > 0 {
			s["dependencies"] = []string{fmt.Sprint("s", i-1)}
			s["retryPolicy"], s["maxRetries"] = "escalate", 0
		}
		out[i] = s
	}
	return out
}

func (m *meter) sprint() string {
	return m.made("create_sprint", "sprintId", args{"projectName": "p", "branch": "b", "stories": stories(2)})
}

// busy is a sprint whose stories are complete, but for the last of the named, which
// is being worked on.
func (m *meter) busy(names ...string) string {
	id := m.sprint()
	for i, name := range names {
		in := args{"sprintId": id, "storyId": name, "status": "active"}
		m.make(m.hub.Catalogue.Op("update_sprint_story"), m.agent, in)
		if in["status"] = "complete"; i < len(names)-1 {
			m.make(m.hub.Catalogue.Op("update_sprint_story"), m.agent, in)
		}
	}
	return id
}

func (m *meter) teamTask() string {
	return m.made("team_task_create", "id", args{"team_name": "the-team", "subject": "s", "description": "d"})
}

// process is one that waits for a runner, of a new teammate.
func (m *meter) process() string {
	m.mates++
	return m.made("team_spawn_teammate", "process_id", args{"team_name": "the-team", "name": fmt.Sprint("mate-", m.mates), "prompt": "p"})
}

// held is a process that the runner r holds.
func (m *meter) held() string {
	id := m.process()
	m.make(m.hub.Catalogue.Op("team_claim_process"), m.agent, args{"team_name": "the-team", "process_id": id, "runner": "r"})
	return id
}

func (m *meter) key() string { return m.made("create_key", "id", args{"program": "gamma"}) }
