package witness

import (
	"slices"
	"time"

	"parley.internal/shared/store"
)

// letter is a message that was sent, or seen.
type letter struct {
	sent                 bool
	from, to, body, kind string
	// reads are who got it as mail, one for each answer that had it.
	reads []reading
	// shown says that its recipient saw it among its old mail.
	shown bool
	acked bool
}

type reading struct {
	agent, requestID string
	at               Span
}

// redelivery is how long after a delivery an unacknowledged message may come again.
const redelivery = 120 * time.Second

func (b *Book) letter(id string) *letter {
	if b.mail[id] == nil {
		b.mail[id] = &letter{}
	}
	return b.mail[id]
}

// Sent notes a message of a kind. No two of a run share a text.
func (b *Book) Sent(id, from, to, kind, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.letter(id)
	l.sent, l.from, l.to, l.kind, l.body = true, from, to, kind, body
}

// Read notes that a program got a message as mail, by a call of that time.
func (b *Book) Read(id, agent, requestID string, at Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.letter(id)
	l.reads = append(l.reads, reading{agent, requestID, at})
}

// Shown notes that a program saw a message among its old mail.
func (b *Book) Shown(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letter(id).shown = true
}

// LostRead notes a reading of a program's mail whose answer did not come: what it took
// out of the inbox nobody saw.
func (b *Book) LostRead(agent string, at Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lostReads[agent] = append(b.lostReads[agent], at)
}

// Acked notes that a message was acknowledged.
func (b *Book) Acked(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letter(id).acked = true
}

func (a *audit) auditMail() {
	docs := a.collection("relay")
	texts := by(docs, "message")
	for id, l := range a.mail {
		if !l.sent {
			a.violate(Delivered, l.reads[0].requestID, "%s got message %s, which nobody was told to have sent", l.reads[0].agent, id)
			continue
		}
		a.checked["messages sent"]++
		a.readers(id, l)
		if !a.single("message", l.body, id, texts[l.body]) {
			continue
		}
		what := "message " + id
		a.expect(what, docs[id], "target", l.to)
		a.expect(what, docs[id], "source", l.from)
		if l.acked {
			a.checked["messages acknowledged"]++
			a.expect(what, docs[id], "state", "acked")
		}
		a.arrived(id, l, docs[id])
	}
}

// redelivered says whether messages of the kind come again until they are acknowledged.
func redelivered(kind string) bool { return kind == "DIRECTIVE" || kind == "QUERY" }

// readers checks who got a message.
func (a *audit) readers(id string, l *letter) {
	slices.SortStableFunc(l.reads, func(x, y reading) int { return x.at.From.Compare(y.at.From) })
	for i, r := range l.reads {
		a.checked["messages read"]++
		if r.agent != l.to {
			a.violate(Delivered, r.requestID, "%s got message %s, which is for %s", r.agent, id, l.to)
		}
		if i == 0 {
			continue
		}
		before := l.reads[i-1]
		if !redelivered(l.kind) || r.at.To.Sub(before.at.From) < redelivery {
			a.violate(Delivered, r.requestID, "%s %s came to two readers, the first by request %s", l.kind, id, before.requestID)
		}
	}
}

// arrived checks that a message is where its recipient has it. Every inbox was read to
// its end before.
func (a *audit) arrived(id string, l *letter, doc store.Fields) {
	if len(l.reads) > 0 {
		return
	}
	if text(doc, "state") == "pending" {
		a.violate(Delivered, "", "message %s waits, and %s, who read all of its mail, did not get it", id, l.to)
		return
	}
	at := instant(doc, "deliveredAt")
	for _, s := range a.lostReads[l.to] {
		if !at.Before(s.From.Truncate(time.Microsecond)) && !at.After(s.To) {
			if a.checked["messages whose delivery was lost on its way"]++; !l.shown {
				a.violate(Delivered, "", "message %s was taken out of the inbox of %s by a call that got no answer, and is not among its old mail", id, l.to)
			}
			return
		}
	}
	a.violate(Delivered, "", "message %s is %s since %s, and %s never got it", id, text(doc, "state"), at, l.to)
}
