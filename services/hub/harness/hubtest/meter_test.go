package hubtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

// meter is a hub on Firestore that records the documents it reads.
type meter struct {
	hub   *hubtest.Hub
	agent string // the key of the agent alpha

	mu   sync.Mutex
	read []string // names of documents
}

func newMeter(t *testing.T) *meter {
	t.Helper()
	m := &meter{}
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t),
		Project: emulator.Project(t), GRPC: []grpc.DialOption{grpc.WithChainStreamInterceptor(m.intercept)}})
	hubtest.Must(t, err)
	db := store.New(d, app.Schema())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m.hub = hubtest.New(t, db, hubtest.Options{Now: new(domaintest.Clock).Now})
	m.agent = m.hub.Agent("u", "alpha")
	return m
}

// intercept records the names of the documents that a stream returns.
func (m *meter) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := stream(ctx, desc, cc, method, opts...)
	return &recorder{s, m}, err
}

type recorder struct {
	grpc.ClientStream
	m *meter
}

// RecvMsg implements grpc.ClientStream.
func (r *recorder) RecvMsg(v any) error {
	err := r.ClientStream.RecvMsg(v)
	name := ""
	switch v := v.(type) {
	case *firestorepb.RunQueryResponse:
		name = v.GetDocument().GetName()
	case *firestorepb.BatchGetDocumentsResponse:
		name = v.GetFound().GetName()
	}
	if err == nil && name != "" {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.read = append(r.m.read, name)
	}
	return err
}

// reset forgets the documents that were read.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = nil
}

// documents returns the names of the documents that were read since the last reset.
func (m *meter) documents() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.read)
}

func TestAReadOfAnInboxReadsOnlyThePendingMessagesOfItsProgram(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	beta := m.hub.Agent("u", "beta")
	send := func(target, text string) {
		in := args{"message": text, "source": "alpha", "target": target, "message_type": "STATUS"}
		if a := m.hub.REST(m.agent, "POST", "/v1/messages", in); a.Status != 201 {
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
		{"/v1/messages?markAsRead=false", 3},
		{"/v1/messages?markAsRead=false&limit=2", 2},
		{"/v1/messages?limit=1", 1},
		{"/v1/messages", 2},
		{"/v1/messages", 0},
	} {
		m.hub.Flush()
		m.reset()
		a := m.hub.REST(beta, "GET", c.path, nil)
		if a.Status != 200 || strings.Count(string(a.Body), `"new `) != c.want {
			t.Errorf("%s: got %s, want %d messages", c.path, a, c.want)
		}
		read := slices.DeleteFunc(m.documents(), func(name string) bool {
			return !strings.Contains(name, "/relay/")
		})
		if len(read) != c.want {
			t.Errorf("%s read %d messages, want %d", c.path, len(read), c.want)
		}
	}
}
