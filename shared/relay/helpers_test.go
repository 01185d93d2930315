package relay

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

var t0 = domaintest.Start

type known []string

func (k known) Programs(context.Context, string) ([]string, error) { return k, nil }

// Sessions returns the addresses of a program among the names.
func (k known) Sessions(_ context.Context, _, program string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(k), func(name string) bool {
		return !strings.HasPrefix(name, program+"/")
	}), nil
}

func (k known) SessionLive(_ context.Context, _ store.Reader, address string) (bool, error) {
	_, found := identity.Among(k, address)
	return found, nil
}

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

// mail is a service on an empty store, with a clock that the test moves.
type mail struct {
	*Service
	domaintest.Clock
	// Messages of the same time are ordered by their ids.
	domaintest.IDs
	t *testing.T
}

func over(t *testing.T, db *store.DB) *mail {
	m := &mail{t: t}
	m.Service = &Service{DB: db, Directory: known{"alpha", "beta", "gamma"}, Now: m.Clock.Now, NewID: m.IDs.NewID}
	return m
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *mail)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

var (
	alpha, beta, gamma = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta"), domaintest.Bound("u", "gamma")
	loose              = domaintest.Unbound("u")
)

// send sends a message from alpha, by default a STATUS to beta, and returns its id.
func (m *mail) send(in SendInput) string {
	m.t.Helper()
	in.Message, in.Target = cmp.Or(in.Message, "hello"), cmp.Or(in.Target, "beta")
	in.MessageType = cmp.Or(in.MessageType, "STATUS")
	return domaintest.Must(m.Send(m.t.Context(), alpha, in))(m.t).MessageID
}

func (m *mail) views(c identity.Caller, in GetInput) []View {
	m.t.Helper()
	out := domaintest.Must(m.Get(m.t.Context(), c, in))(m.t)
	if out.Messages == nil {
		m.t.Error("no messages are null, not an empty list")
	}
	return out.Messages
}

// get returns the texts of the messages that a call reads.
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

// stored returns a message as the store holds it, which must exist.
func (m *mail) stored(id string) Message {
	m.t.Helper()
	return domaintest.Must(messages.Get(m.t.Context(), m.DB.User("u"), id))(m.t)
}

func (m *mail) ack(c identity.Caller, ids ...string) AckOutput {
	m.t.Helper()
	return domaintest.Must(m.Ack(m.t.Context(), c, AckInput{MessageIDs: ids}))(m.t)
}

// kept returns a message as the store holds it, and whether it exists.
func (m *mail) kept(id string) (v Message, there bool) {
	m.t.Helper()
	f := messages.Fetch(id, &v)
	domaintest.Check(m.t, store.Load(m.t.Context(), m.DB.User("u"), f))
	return v, f.Found
}

func (m *mail) sweep(limit int) int {
	m.t.Helper()
	return domaintest.Must(m.SweepRelay(m.t.Context(), store.NewAdmin(m.DB), limit))(m.t)
}

func (m *mail) letters(c identity.Caller, in DeadInput) DeadOutput {
	m.t.Helper()
	return domaintest.Must(m.DeadLetters(m.t.Context(), c, in))(m.t)
}

// dead returns the texts of the dead letters that a caller sees.
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
	domaintest.Must(m.SetGroup(m.t.Context(), alpha, SetGroupInput{Name: name, Members: members}))(m.t)
}

// fill writes messages from alpha to beta without the cost of sending them.
func (m *mail) fill(user string, n int, ttl time.Duration) {
	m.t.Helper()
	for n > 0 {
		some := min(n, store.MaxWrites)
		n -= some
		ids := make([]string, some)
		for i := range ids {
			ids[i] = m.IDs.NewID()
		}
		domaintest.Check(m.t, m.DB.User(user).Update(m.t.Context(), func(_ context.Context, tx *store.Tx) error {
			for _, id := range ids {
				v := Message{Source: "alpha", Text: id, Type: "STATUS"}
				v.Post("beta", m.Clock.Now(), ttl)
				messages.Create(tx, id, v)
			}
			return nil
		}))
	}
}
