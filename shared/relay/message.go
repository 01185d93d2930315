package relay

import (
	"slices"
	"strings"
	"time"

	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// atOnce is before every reader's now.
var atOnce = time.Unix(0, 0).UTC()

// State is where a message stands.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Acked     State = "acked"
	Dead      State = "dead"
)

// The rules of delivery.
const (
	// Redeliver is how long after a delivery an unacknowledged message comes again.
	Redeliver = 120 * time.Second
	// MaxDeliveries is how often it comes in all.
	MaxDeliveries = 3
	// DeadFor is how long a dead letter is kept.
	DeadFor = 7 * 24 * time.Hour
)

// Message is a document of the collection: one message to one recipient.
type Message struct {
	Source     string           `json:"source"`
	Verified   bool             `json:"verified"`
	Target     string           `json:"target"`
	Boxes      []string         `json:"boxes"`
	Text       string           `json:"message"`
	Type       string           `json:"messageType"`
	Priority   task.Priority    `json:"priority"`
	Rank       int              `json:"rank"`
	Action     string           `json:"action,omitempty"`
	Context    string           `json:"context,omitempty"`
	SessionID  string           `json:"sessionId,omitempty"`
	ReplyTo    string           `json:"replyTo,omitempty"`
	ThreadID   string           `json:"threadId,omitempty"`
	Provenance *task.Provenance `json:"provenance,omitempty"`
	// MulticastID is what the copies of one sending have in common.
	MulticastID string    `json:"multicastId,omitempty"`
	State       State     `json:"state"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	// DueAt is when it is next to be delivered: at once for a new one, whatever the
	// clocks of its sender and its reader say; none where no delivery is to come.
	DueAt       time.Time `json:"dueAt,omitzero"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero"`
	AckedAt     time.Time `json:"ackedAt,omitzero"`
	Deliveries  int       `json:"deliveries"`
	// Dead says who finds it among the dead letters, and DiedAt since when it is
	// one. A live message has neither, and no row in their index.
	Dead   []string  `json:"dead,omitempty"`
	DiedAt time.Time `json:"diedAt,omitzero"`
	// SweepAt is when a sweep has to look at it, unless a reader is there before.
	SweepAt time.Time `json:"sweepAt"`
	// PurgeAt is never before SweepAt: a store forgets by itself what no sweep came to.
	PurgeAt time.Time `json:"purgeAt"`
}

// Messages is the collection. An inbox is what is due in a box, by priority and
// then age; a history is a box by age; dead letters stand newest first.
var messages = store.Collection[Message]{Name: "relay", Indexes: []string{
	"boxes[],rank desc,createdAt,dueAt", "boxes[],createdAt", "dead[],diedAt desc",
}, AllUsers: []string{"sweepAt"}, Unindexed: []string{"message", "context"}}

// Defs declares the collections of the mail.
func (*Service) Defs() []*store.Def { return []*store.Def{messages.Def(), groups.Def()} }

// box names the mail of a program under any mix of filters; empty ones are none.
func box(target, typ, priority, thread string) string {
	return strings.Join([]string{target, typ, priority, thread}, "\x1f")
}

// address fills in the boxes that the message lies in: one for every mix of
// filters that an inbox can be read by, so that each is one query.
func (m *Message) address() {
	m.Rank = m.Priority.Rank()
	m.Boxes = nil
	threads := []string{""}
	if m.ThreadID != "" {
		threads = append(threads, m.ThreadID)
	}
	for _, typ := range []string{"", m.Type} {
		for _, prio := range []string{"", string(m.Priority)} {
			for _, thread := range threads {
				m.Boxes = append(m.Boxes, box(m.Target, typ, prio, thread))
			}
		}
	}
}

// Post makes it wait in the inbox of the target.
func (m *Message) Post(target string, now time.Time, ttl time.Duration) {
	m.Target, m.State, m.CreatedAt, m.DueAt = target, Pending, now, atOnce
	m.ExpiresAt = now.Add(ttl)
	m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	m.address()
	m.plan()
}

// plan sets SweepAt by where the message stands.
func (m *Message) plan() {
	m.SweepAt = m.ExpiresAt
	switch m.State {
	case Acked, Dead:
		m.SweepAt = m.PurgeAt
	case Delivered:
		if m.WantsAck() && m.Deliveries >= MaxDeliveries && m.DueAt.Before(m.ExpiresAt) {
			m.SweepAt = m.DueAt
		}
	}
}

// WantsAck says whether the message is delivered again until it is acknowledged.
func (m *Message) WantsAck() bool { return m.Type == "DIRECTIVE" || m.Type == "QUERY" }

// Lapsed says whether the message is a dead letter now: it expired unread, or
// went unacknowledged after its last delivery.
func (m *Message) Lapsed(now time.Time) bool {
	switch m.State {
	case Pending:
		return !now.Before(m.ExpiresAt)
	case Delivered:
		return m.WantsAck() && !m.DueAt.IsZero() && (m.Deliveries >= MaxDeliveries && !now.Before(m.DueAt) || !now.Before(m.ExpiresAt))
	}
	return false
}

// everyone is the word in [Message.Dead] by which a key that is bound to no program finds it.
const everyone = "*"

// Bury makes a dead letter of it, for its sender and its recipient to see.
func (m *Message) Bury(now time.Time) {
	m.State, m.DueAt, m.DiedAt, m.PurgeAt = Dead, time.Time{}, now, now.Add(DeadFor)
	m.Dead = []string{everyone}
	for _, program := range []string{m.Source, m.Target} {
		if program != "" && !slices.Contains(m.Dead, program) {
			m.Dead = append(m.Dead, program)
		}
	}
	m.plan()
}

// Reason says why a dead letter is one.
func (m *Message) Reason() string {
	if m.Deliveries > 0 {
		return "unacknowledged"
	}
	return "expired"
}

// Deliver marks one delivery.
func (m *Message) Deliver(now time.Time) {
	m.State, m.DeliveredAt, m.DueAt, m.PurgeAt = Delivered, now, time.Time{}, m.ExpiresAt
	m.Deliveries++
	if m.WantsAck() {
		m.DueAt = now.Add(Redeliver)
		m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	}
	m.plan()
}

// Ack acknowledges a message. A dead letter is none any more. It reports whether anything
// changed.
func (m *Message) Ack(now time.Time) bool {
	if m.State == Acked {
		return false
	}
	m.State, m.AckedAt, m.DueAt, m.PurgeAt = Acked, now, time.Time{}, m.ExpiresAt
	m.Dead, m.DiedAt = nil, time.Time{}
	if m.PurgeAt.Before(now) {
		m.PurgeAt = now
	}
	m.plan()
	return true
}

// Sweep does what time has made due: it buries what lapsed, and says of the rest
// whether it is spent, to be deleted.
func (m *Message) Sweep(now time.Time) (buried, spent bool) {
	switch {
	case now.Before(m.SweepAt):
		return false, false
	case m.Lapsed(now):
		m.Bury(now)
		return true, false
	}
	return false, true
}
