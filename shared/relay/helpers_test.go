package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type known []string

func (k known) Programs(context.Context, string) ([]string, error) { return k, nil }

// mail is a service on an empty store, with a clock that the test moves.
type mail struct {
	*Service
	t *testing.T

	mu    sync.Mutex
	now   time.Time
	made  int
	looks chan struct{}
}

func each(t *testing.T, test func(*testing.T, *mail)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, store.NewSchema(Def(), once.Def()), func(t *testing.T, db *store.DB) {
		m := &mail{t: t, now: t0, looks: make(chan struct{}, 100)}
		m.Service = &Service{DB: db, Directory: known{"alpha", "beta", "gamma"}, Now: m.clock, NewID: m.id}
		test(t, m)
	})
}

func (m *mail) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.looks <- struct{}{}:
	default:
	}
	return m.now
}

// id counts, so that messages sent at one time stand in the order of their sending.
func (m *mail) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made++
	return fmt.Sprintf("m%03d", m.made)
}

func (m *mail) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

func bound(program string) identity.Caller {
	return identity.Caller{User: "u", Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

var (
	alpha, beta, gamma = bound("alpha"), bound("beta"), bound("gamma")
	loose              = identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Agent}
)

// send sends from alpha what is left out, a STATUS to beta, and returns its id.
func (m *mail) send(in SendInput) string {
	m.t.Helper()
	in.Message, in.Target, in.MessageType = or(in.Message, "hello"), or(in.Target, "beta"), or(in.MessageType, "STATUS")
	out, err := m.Send(m.t.Context(), alpha, in)
	if err != nil {
		m.t.Fatal(err)
	}
	return out.MessageID
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func (m *mail) views(c identity.Caller, in GetInput) []View {
	m.t.Helper()
	out, err := m.Get(m.t.Context(), c, in)
	if err != nil {
		m.t.Fatal(err)
	}
	if out.Messages == nil {
		m.t.Error("no messages are null, not an empty list")
	}
	return out.Messages
}

// get is the texts that a reading shows.
func (m *mail) get(c identity.Caller, in GetInput) string {
	m.t.Helper()
	return texts(m.views(c, in))
}

func texts(views []View) string {
	var out []string
	for _, v := range views {
		out = append(out, v.Message)
	}
	return strings.Join(out, " ")
}

// stored is a message as it is kept.
func (m *mail) stored(id string) Message {
	m.t.Helper()
	v, err := messages.Get(m.t.Context(), m.DB.User("u"), id)
	if err != nil {
		m.t.Fatal(err)
	}
	return v
}

func (m *mail) ack(c identity.Caller, ids ...string) AckOutput {
	m.t.Helper()
	out, err := m.Ack(m.t.Context(), c, AckInput{MessageIDs: ids})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func refused(t *testing.T, name string, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %v", name, err, kind)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %q does not say %q", name, err, s)
		}
	}
}

func field(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Problems) != 1 {
		return fmt.Sprint("no field: ", err)
	}
	return f.Problems[0].Path
}

func no() *bool { b := false; return &b }
