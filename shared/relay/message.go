package relay

import (
	"slices"
	"strings"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// alwaysDue is a time before that of any reader's clock.
var alwaysDue = time.Unix(0, 0).UTC()

// State is the state of a message.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Acked     State = "acked"
	Dead      State = "dead"
)

// The limits of delivery.
const (
	// Redeliver is the time between a delivery and the next one of a message that is not acknowledged.
	Redeliver = 120 * time.Second
	// MaxDeliveries is the number of deliveries after which an unacknowledged message is a dead letter.
	MaxDeliveries = 3
	// DeadFor is the time for which a dead letter is kept.
	DeadFor = 7 * 24 * time.Hour
)

// Message is a document: one message to one recipient.
type Message struct {
	Source   string `json:"source"`
	Verified bool   `json:"verified"`
	// Sender is the caller that sent it, zero for the system and for messages from before it was kept.
	Sender identity.Owner `json:"sender,omitzero"`
	Target string         `json:"target"`
	// Stray means that no program had the name of the target when it was sent.
	Stray bool     `json:"stray,omitempty"`
	Boxes []string `json:"boxes"`
	Text  string   `json:"message"`
	Type  string   `json:"messageType"`
	// TypeName repeats Type under the name that the input and the answers have, for those who read the documents.
	TypeName  string        `json:"message_type"`
	Priority  task.Priority `json:"priority"`
	Rank      int           `json:"rank"`
	Action    string        `json:"action,omitempty"`
	Context   string        `json:"context,omitempty"`
	SessionID string        `json:"sessionId,omitempty"`
	// AddressedTo is the address of the session that the message was for, where it went to the program's inbox because
	// the session had ended.
	AddressedTo string           `json:"addressedTo,omitempty"`
	ReplyTo     string           `json:"replyTo,omitempty"`
	ThreadID    string           `json:"threadId,omitempty"`
	Provenance  *task.Provenance `json:"provenance,omitempty"`
	// MulticastID is common to the copies of one multicast; a message to one program has none.
	MulticastID string    `json:"multicastId,omitempty"`
	State       State     `json:"state"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	// DueAt is the time of the next delivery. A new message is due at once, even where the clock of its sender is
	// ahead of its reader's. It is zero where no further delivery follows.
	DueAt       time.Time `json:"dueAt,omitzero"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero"`
	AckedAt     time.Time `json:"ackedAt,omitzero"`
	Deliveries  int       `json:"deliveries"`
	// Receipt names the read that asked for a confirmation which has not come. Until DueAt the message waits for it.
	Receipt string `json:"receipt,omitempty"`
	// Again means that a reader may have seen the message before: that read was not confirmed, or its answer was lost.
	Again bool `json:"again,omitempty"`
	// Dead lists the programs that see the message among the dead letters, and "*"; DiedAt is the time at which it
	// became one. A live message has neither, and therefore no entry in their index.
	Dead   []string  `json:"dead,omitempty"`
	DiedAt time.Time `json:"diedAt,omitzero"`
	// SweepAt is the time from which a sweep handles the message, unless a reader does so before.
	SweepAt time.Time `json:"sweepAt"`
	// PurgeAt is the time from which the store may delete the message by itself. It is never before SweepAt.
	PurgeAt time.Time `json:"purgeAt"`
}

// messages is the collection of messages. An inbox is read by priority and then age, a history by age, and dead
// letters newest first.
var messages = store.Collection[Message]{Name: "relay", PartOf: "a message", Indexes: []string{
	"boxes[],rank desc,createdAt,dueAt", "boxes[],createdAt", "dead[],diedAt desc", "receipt",
}, Filters: []string{"source,createdAt"}, AllUsers: []string{"sweepAt"},
	Unindexed: []string{"message", "context", "sender", "message_type"}, Log: "message", Note: (*Message).logged, Text: (*Message).text}

// logged describes the message in the log.
func (m *Message) logged(string) store.Note {
	return store.Note{Line: m.Source + " to " + m.Target + ", " + m.Type + ": " + m.Text, State: string(m.State),
		Program: m.Target}
}

// Defs declares the collections of the mail.
func (*Service) Defs() []*store.Def { return []*store.Def{messages.Def(), groups.Def()} }

// box returns the name of a program's mail under a combination of filters. An empty filter matches every message.
func box(target, typ, priority, thread string) string {
	return strings.Join([]string{identity.Fold(target), typ, priority, thread}, "\x1f")
}

// boxesOf returns the condition that a message lies in the box of one of the targets. Messages that were stored before
// names were folded lie in a box with the program's own spelling.
func boxesOf(targets []string, typ, priority, thread string) store.Cond {
	var names []any
	for _, target := range targets {
		folded := box(target, typ, priority, thread)
		names = append(names, folded)
		if exact := strings.Join([]string{target, typ, priority, thread}, "\x1f"); exact != folded {
			names = append(names, exact)
		}
	}
	if len(names) == 1 {
		return store.Contains("boxes", names[0])
	}
	return store.ContainsAny("boxes", names...)
}

// setBoxes lists the boxes of the message: one for every combination of filters that matches it, so that an inbox
// is one query whatever its filters.
func (m *Message) setBoxes() {
	m.Rank, m.TypeName = m.Priority.Rank(), m.Type
	m.Boxes = nil
	threads, targets := []string{""}, []string{m.Target}
	if m.ThreadID != "" {
		threads = append(threads, m.ThreadID)
	}
	if program, session := identity.SplitAddress(m.Target); session != "" {
		targets = append(targets, program+everySession)
	}
	for _, target := range targets {
		for _, typ := range []string{"", m.Type} {
			for _, prio := range []string{"", string(m.Priority)} {
				for _, thread := range threads {
					m.Boxes = append(m.Boxes, box(target, typ, prio, thread))
				}
			}
		}
	}
	if m.Stray {
		m.Boxes = append(m.Boxes, box(strayBox, "", "", ""))
	}
}

// strayBox is the name in whose box all messages to unknown names lie. No program has it.
const strayBox = "?"

// everySession follows the name of a program in the boxes that hold the mail of all its sessions.
const everySession = "/*"

// forward moves an unread message for a session to the inbox of its program.
func (m *Message) forward() {
	m.AddressedTo = m.Target
	m.Target, _ = identity.SplitAddress(m.Target)
	m.setBoxes()
}

// Post addresses the message to a program, pending from now and expiring after ttl.
func (m *Message) Post(target string, now time.Time, ttl time.Duration) {
	m.Target, m.State, m.CreatedAt, m.DueAt = target, Pending, now, alwaysDue
	m.ExpiresAt = now.Add(ttl)
	m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	m.setBoxes()
	m.plan()
}

// plan sets SweepAt from the state of the message.
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

// WantsAck reports whether the message is delivered again until it is acknowledged.
func (m *Message) WantsAck() bool { return m.Type == "DIRECTIVE" || m.Type == "QUERY" }

// Lapsed reports whether the message must become a dead letter: it expired unread, or its last delivery was not
// acknowledged in time.
func (m *Message) Lapsed(now time.Time) bool {
	switch m.State {
	case Pending:
		return !now.Before(m.ExpiresAt)
	case Delivered:
		return m.WantsAck() && !m.DueAt.IsZero() &&
			(m.Deliveries >= MaxDeliveries && !now.Before(m.DueAt) || !now.Before(m.ExpiresAt))
	}
	return false
}

// everyone is the entry of [Message.Dead] under which a human, or a key bound to no program, finds a dead letter.
const everyone = "*"

// deadFor returns the condition that a program sees a message among the dead letters. The entries of messages that died
// before names were folded have the program's own spelling.
func deadFor(program string) store.Cond {
	return store.ContainsAny("dead", identity.Fold(program), program)
}

// Bury makes the message a dead letter, which its sender and its recipient see for [DeadFor].
func (m *Message) Bury(now time.Time) {
	m.State, m.DueAt, m.DiedAt, m.PurgeAt, m.Receipt = Dead, time.Time{}, now, now.Add(DeadFor), ""
	m.Dead = []string{everyone}
	for _, program := range []string{m.Source, m.Target} {
		program, _ = identity.SplitAddress(program)
		if program = identity.Fold(program); program != "" && !slices.Contains(m.Dead, program) {
			m.Dead = append(m.Dead, program)
		}
	}
	m.plan()
}

// Reason returns the reason of a dead letter: "unacknowledged" if it was ever delivered, otherwise "expired".
func (m *Message) Reason() string {
	if m.Deliveries > 0 {
		return "unacknowledged"
	}
	return "expired"
}

// Deliver records one delivery, which its reader confirms by its answer or has confirmed.
func (m *Message) Deliver(now time.Time) {
	m.again()
	m.State, m.DeliveredAt, m.DueAt, m.PurgeAt = Delivered, now, time.Time{}, m.ExpiresAt
	m.Deliveries++
	if m.WantsAck() {
		m.DueAt = now.Add(Redeliver)
		m.PurgeAt = m.ExpiresAt.Add(DeadFor)
	}
	m.plan()
}

// Hold records a read that its reader confirms later with the receipt. Without that the message is due again after
// [Redeliver]. It is no delivery, so it does not count among those of a message that wants to be acknowledged.
func (m *Message) Hold(receipt string, now time.Time) {
	m.again()
	m.Receipt, m.DueAt = receipt, now.Add(Redeliver)
}

// again marks a message whose last read was never confirmed.
func (m *Message) again() {
	m.Again = m.Again || m.Receipt != ""
	m.Receipt = ""
}

// Confirm makes the read of a held message a delivery.
func (m *Message) Confirm(now time.Time) {
	m.Receipt = ""
	m.Deliver(now)
}

// seen is 0 for a message that was never read, and 1 for one that a reader may have.
func (m *Message) seen() int {
	if m.Deliveries == 0 && m.Receipt == "" && !m.Again {
		return 0
	}
	return 1
}

// Undeliver takes back the read that made read of before, because its reader got no answer: the message is as it was, but
// marked as one that may have been seen. It reports false, and changes nothing, if the message was changed since.
func (m *Message) Undeliver(before, read Message) bool {
	if m.State != read.State || m.Receipt != read.Receipt || m.Deliveries != read.Deliveries ||
		!m.DueAt.Equal(read.DueAt) || !m.DeliveredAt.Equal(read.DeliveredAt) {
		return false
	}
	m.State, m.Deliveries, m.DeliveredAt = before.State, before.Deliveries, before.DeliveredAt
	m.DueAt, m.PurgeAt, m.Receipt, m.Again = before.DueAt, before.PurgeAt, "", true
	m.plan()
	return true
}

// Ack acknowledges the message and reports whether that changed it. A dead letter leaves the list of dead letters.
func (m *Message) Ack(now time.Time) bool {
	if m.State == Acked {
		return false
	}
	m.State, m.AckedAt, m.DueAt, m.PurgeAt, m.Receipt = Acked, now, time.Time{}, m.ExpiresAt, ""
	m.Dead, m.DiedAt = nil, time.Time{}
	if m.PurgeAt.Before(now) {
		m.PurgeAt = now
	}
	m.plan()
	return true
}

// Sweep handles a message whose SweepAt has come. It makes a lapsed message a dead letter and reports buried; any other
// it leaves for the caller to delete and reports spent. Before SweepAt it does nothing.
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
