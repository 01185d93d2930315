package witness

import (
	"slices"
	"time"

	"parley.internal/shared/store"
)

// message is a message that was sent or delivered.
type message struct {
	sent                 bool
	from, to, body, kind string
	reads                []reading // the deliveries
	shown                bool      // its recipient saw it among the delivered messages
	acked                bool
	confirmed            time.Time // when its recipient knew that the server has got the receipt of a reading
}

type reading struct {
	agent, requestID string
	again            bool // it was marked as one that may have been read before
	at               Span
}

// redelivery is the time after a delivery at which an unacknowledged message may be delivered again, and after a reading
// one whose receipt has not come.
const redelivery = 120 * time.Second

func (b *Book) message(id string) *message {
	if b.messages[id] == nil {
		b.messages[id] = &message{}
	}
	return b.messages[id]
}

// Sent records an acknowledged message. Its body must be unique in the run.
func (b *Book) Sent(id, from, to, kind, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.message(id)
	m.sent, m.from, m.to, m.kind, m.body = true, from, to, kind, body
}

// Read records the delivery of a message to a program by a call in the span at. again says that the answer marked it as
// one that may have been read before.
func (b *Book) Read(id, agent, requestID string, again bool, at Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.message(id)
	m.reads = append(m.reads, reading{agent, requestID, again, at})
}

// Confirmed records that a call with the receipt of a reading of a message has succeeded.
func (b *Book) Confirmed(id string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.message(id).confirmed = at
}

// Shown records that a program saw a message among its delivered messages.
func (b *Book) Shown(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.message(id).shown = true
}

// LostRead records a call that read a program's inbox and got no answer. The messages that it took were seen by no
// client. Without receipts it took them in the span at; with receipts the call may go on after it, as its client cannot
// make sure that the server learns of its end.
func (b *Book) LostRead(agent string, at Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lostReads[agent] = append(b.lostReads[agent], at)
}

// Acked records that the recipient acknowledged a message.
func (b *Book) Acked(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.message(id).acked = true
}

func (a *audit) auditMail() {
	docs := a.collection("relay")
	texts := by(docs, "message")
	for id, m := range a.messages {
		if !m.sent {
			a.violate(Delivered, m.reads[0].requestID, "%s got message %s, which was never acknowledged to a sender",
				m.reads[0].agent, id)
			continue
		}
		a.checked["messages sent"]++
		a.checkReads(id, m)
		if !a.single("message", m.body, id, texts[m.body]) {
			continue
		}
		what := "message " + id
		a.expect(what, docs[id], "target", m.to)
		a.expect(what, docs[id], "source", m.from)
		if m.acked {
			a.checked["messages acknowledged"]++
			a.expect(what, docs[id], "state", "acked")
		}
		a.checkDelivery(id, m, docs[id])
	}
}

// redelivered reports whether messages of the kind are delivered again until they are acknowledged.
func redelivered(kind string) bool { return kind == "DIRECTIVE" || kind == "QUERY" }

// checkReads checks that a message was delivered to its recipient alone, and again only when that is allowed.
func (a *audit) checkReads(id string, m *message) {
	slices.SortStableFunc(m.reads, func(x, y reading) int { return x.at.From.Compare(y.at.From) })
	for i, r := range m.reads {
		a.checked["messages read"]++
		if r.agent != m.to {
			a.violate(Delivered, r.requestID, "%s got message %s, which is for %s", r.agent, id, m.to)
		}
		if i == 0 {
			continue
		}
		before := m.reads[i-1]
		unconfirmed := r.again && (m.confirmed.IsZero() || !r.at.From.After(m.confirmed))
		if !redelivered(m.kind) && !unconfirmed || r.at.To.Sub(before.at.From) < redelivery {
			a.violate(Delivered, r.requestID, "%s %s was delivered twice, first by request %s",
				m.kind, id, before.requestID)
		}
	}
}

// checkDelivery checks that a message that was never read was taken by a call without an answer. Every inbox must have
// been read to its end.
func (a *audit) checkDelivery(id string, m *message, doc store.Fields) {
	if len(m.reads) > 0 {
		return
	}
	if text(doc, "state") == "pending" {
		if held := instant(doc, "dueAt").Add(-redelivery); text(doc, "receipt") != "" && a.lostSince(m.to, held) {
			a.checked["messages held for a lost answer"]++ // and due again
			return
		}
		a.violate(Delivered, "", "message %s is pending although %s has read its whole inbox", id, m.to)
		return
	}
	at := instant(doc, "deliveredAt")
	for _, s := range a.lostReads[m.to] {
		if !at.Before(s.From.Truncate(time.Microsecond)) && !at.After(s.To) {
			if a.checked["messages taken by a lost answer"]++; !m.shown {
				a.violate(Delivered, "", "message %s was taken from the inbox of %s by a call that got no answer, "+
					"and is not among its delivered messages", id, m.to)
			}
			return
		}
	}
	a.violate(Delivered, "", "message %s is %s since %s, and %s never got it", id, text(doc, "state"), at, m.to)
}

// lostSince reports whether a call without an answer may have read the inbox of an agent at a time.
func (a *audit) lostSince(agent string, at time.Time) bool {
	return slices.ContainsFunc(a.lostReads[agent], func(s Span) bool { return !at.Before(s.From.Truncate(time.Microsecond)) })
}
