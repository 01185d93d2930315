package relay

import (
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
	State      State            `json:"state"`
	CreatedAt  time.Time        `json:"createdAt"`
	ExpiresAt  time.Time        `json:"expiresAt"`
	// DueAt is when it is next to be delivered: at once for a new one, whatever the
	// clocks of its sender and its reader say; none once that is settled.
	DueAt       time.Time `json:"dueAt,omitzero"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero"`
	AckedAt     time.Time `json:"ackedAt,omitzero"`
	Deliveries  int       `json:"deliveries"`
	PurgeAt     time.Time `json:"purgeAt"`
}

// Messages is the collection. An inbox is what is due in a box, by priority and
// then age; a history is a box by age.
var messages = store.Collection[Message]{Name: "relay", Indexes: []string{
	"boxes[],rank desc,createdAt,dueAt", "boxes[],createdAt",
}, Unindexed: []string{"message", "context"}}

// Def declares the collection of messages.
func Def() *store.Def { return messages.Def() }

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

// Bury makes a dead letter of it.
func (m *Message) Bury(now time.Time) {
	m.State, m.DueAt, m.PurgeAt = Dead, time.Time{}, now.Add(DeadFor)
}

// Deliver marks one delivery.
func (m *Message) Deliver(now time.Time) {
	m.State, m.DeliveredAt, m.DueAt, m.PurgeAt = Delivered, now, time.Time{}, m.ExpiresAt
	m.Deliveries++
	if m.WantsAck() {
		m.DueAt = now.Add(Redeliver)
		m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	}
}

// Ack settles a message. It says whether anything changed.
func (m *Message) Ack(now time.Time) bool {
	if m.State == Acked {
		return false
	}
	m.State, m.AckedAt, m.DueAt, m.PurgeAt = Acked, now, time.Time{}, m.ExpiresAt
	if m.PurgeAt.Before(now) {
		m.PurgeAt = now
	}
	return true
}
