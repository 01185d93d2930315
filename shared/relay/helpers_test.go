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
	storetest.Each(t, store.NewSchema(append(Defs(), once.Def())...), func(t *testing.T, db *store.DB) {
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

// kept is a message as it is kept, and whether it is.
func (m *mail) kept(id string) (v Message, there bool) {
	m.t.Helper()
	f := messages.Fetch(id, &v)
	if err := store.Load(m.t.Context(), m.DB.User("u"), f); err != nil {
		m.t.Fatal(err)
	}
	return v, f.Found
}

func (m *mail) sweep(limit int) int {
	m.t.Helper()
	n, err := m.SweepRelay(m.t.Context(), store.NewAdmin(m.DB), limit)
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func (m *mail) letters(c identity.Caller, in DeadInput) DeadOutput {
	m.t.Helper()
	out, err := m.DeadLetters(m.t.Context(), c, in)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// dead is the texts of the dead letters that a caller sees.
func (m *mail) dead(c identity.Caller) string {
	m.t.Helper()
	var views []View
	for _, d := range m.letters(c, DeadInput{Limit: 100}).Messages {
		views = append(views, d.View)
	}
	return texts(views)
}

func (m *mail) group(name string, members ...string) {
	m.t.Helper()
	if _, err := m.SetGroup(m.t.Context(), alpha, SetGroupInput{Name: name, Members: members}); err != nil {
		m.t.Fatal(err)
	}
}

// fill writes messages from alpha to beta without the cost of sending them.
func (m *mail) fill(user string, n int, ttl time.Duration) {
	m.t.Helper()
	for n > 0 {
		some := min(n, store.MaxWrites)
		n -= some
		ids := make([]string, some)
		for i := range ids {
			ids[i] = m.id()
		}
		err := m.DB.User(user).Update(m.t.Context(), func(_ context.Context, tx *store.Tx) error {
			for _, id := range ids {
				v := Message{Source: "alpha", Text: id, Type: "STATUS"}
				v.Post("beta", m.now, ttl)
				messages.Create(tx, id, v)
			}
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

func no() *bool { b := false; return &b }
