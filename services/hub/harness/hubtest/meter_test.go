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

func (m *meter) message() string {
	return m.made("send_message", "messageId", args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "QUERY"})
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
