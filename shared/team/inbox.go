package team

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Message is a message in a member's inbox.
type Message struct {
	ID        string `json:"id" jsonschema:"orders the inbox"`
	From      string `json:"from"`
	By        string `json:"by,omitempty" jsonschema:"the person who sent it under that name"`
	Text      string `json:"text" jsonschema:"plain text, or the JSON of an assignment, a shutdown or a plan approval, with its type"`
	Timestamp string `json:"timestamp"`
	Read      bool   `json:"read"`
	Summary   string `json:"summary,omitempty"`
	Color     string `json:"color,omitempty"`
	Again     bool   `json:"again,omitempty" jsonschema:"you may have read it before"`
}

// storedMessage is the document of a message.
type storedMessage struct {
	Message
	Agent string `json:"agent"`
	Seq   int64  `json:"seq"`
	// Receipt names the read that asked for a confirmation which has not come. Until HeldUntil the message waits for it.
	Receipt   string    `json:"receipt,omitempty"`
	HeldUntil time.Time `json:"heldUntil,omitzero"`
	// PurgeAt is the time at which the store deletes the message. One that is not read has none.
	PurgeAt time.Time `json:"purgeAt,omitzero"`
	// Nulls lists the fields that are null in the archive that the message comes from.
	Nulls []string `json:"nulls,omitempty"`
}

// inbox counts the messages of a member.
type inbox struct {
	// TeamID distinguishes the inbox from that of an earlier team of the same name.
	TeamID string `json:"teamId"`
	Agent  string `json:"agent"`
	Last   int64  `json:"last"`
	// Left is the last message at the time when a member of the name left, and Before the same once another has joined:
	// its inbox begins after that.
	Left   int64 `json:"left,omitempty"`
	Before int64 `json:"before,omitempty"`
}

var (
	inboxes = store.Collection[inbox]{Name: "teamInboxes", PartOf: "an inbox of a team",
		Indexes: []string{"teamId,agent"}}
	messages = store.Collection[storedMessage]{Name: "teams/*/teamMessages", PartOf: "a message",
		Indexes: []string{"agent,seq", "agent,read,seq", "receipt"}, Unindexed: []string{"text", "summary", "nulls"}}
)

// stamp formats a time as messages have it: UTC, with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// delivery adds messages to inboxes within one transaction.
type delivery struct {
	team  *document
	heads map[string]*head
}

type head struct {
	inbox
	fetch *store.Fetch
}

// person returns the name of a human caller in records, and the empty string for agents.
func person(c identity.Caller) string {
	if c.IsHuman() {
		return c.Actor()
	}
	return ""
}

// newDelivery prepares a delivery to members of the team of that name. The caller loads the
// fetches in its transaction, and calls open, send for each message, and close.
func newDelivery(team string, names ...string) (*delivery, []*store.Fetch) {
	p := &delivery{heads: map[string]*head{}}
	var fetches []*store.Fetch
	for _, name := range names {
		if p.heads[name] != nil {
			continue
		}
		h := &head{}
		h.fetch = inboxes.Fetch(memberID(team, name), &h.inbox)
		p.heads[name] = h
		fetches = append(fetches, h.fetch)
	}
	return p, fetches
}

// open replaces an inbox that is missing or belongs to an earlier team by an empty one.
func (p *delivery) open(d *document) {
	p.team = d
	for name, h := range p.heads {
		if !h.fetch.Found || h.TeamID != d.ID {
			h.inbox = inbox{TeamID: d.ID, Agent: name}
		}
	}
}

// begin begins an inbox anew for a member that joins: it has no message that an earlier member of the same name got,
// but those that came since, such as a task that is assigned already.
func (p *delivery) begin(name string) { p.heads[name].Before = p.heads[name].Left }

// leave records that the member of an inbox leaves.
func (p *delivery) leave(name string) { p.heads[name].Left = p.heads[name].Last }

// send adds a message to an inbox named in newDelivery, under the next id of that inbox.
func (p *delivery) send(tx *store.Tx, to string, m Message) {
	h := p.heads[to]
	h.Last++
	m.ID = messageID(h.Last)
	messages.Under(p.team.ID).Create(tx, messageDocID(h.Last, to), storedMessage{Message: m, Agent: to, Seq: h.Last})
}

// close writes the counters of the inboxes. It must be called once, after the last send.
func (p *delivery) close(tx *store.Tx) {
	for name, h := range p.heads {
		inboxes.Put(tx, memberID(p.team.Name, name), h.inbox)
	}
}

func messageID(seq int64) string { return fmt.Sprintf("%010d", seq) }

func messageDocID(seq int64, agent string) string { return messageID(seq) + ":" + agent }

// payload encodes a structured message as its text.
func payload(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // impossible: payloads hold only strings and booleans
		panic(err)
	}
	return string(text)
}

type taskAssignment struct {
	Type        string `json:"type"`
	TaskID      string `json:"taskId"`
	Subject     string `json:"subject"`
	Description string `json:"description"`
	AssignedBy  string `json:"assignedBy"`
	Timestamp   string `json:"timestamp"`
}

type shutdownRequest struct {
	Type      string `json:"type"`
	RequestID string `json:"requestId"`
	From      string `json:"from"`
	Reason    string `json:"reason"`
	Timestamp string `json:"timestamp"`
}

type shutdownApproved struct {
	Type        string `json:"type"`
	RequestID   string `json:"requestId"`
	From        string `json:"from"`
	Timestamp   string `json:"timestamp"`
	PaneID      string `json:"paneId"`
	BackendType string `json:"backendType"`
}

type planApproval struct {
	Type     string `json:"type"`
	Approved bool   `json:"approved"`
}

// deliverTo prepares a delivery to one member. The names of a team are compared without case, and the inbox of the member
// is under the name that the team has: if the caller spelled it in another way, that inbox is read now, before the
// transaction's first write.
func (d *document) deliverTo(ctx context.Context, tx *store.Tx, mail *delivery, given string) (*delivery, error) {
	name := d.spelling(given)
	if name != given {
		var fetches []*store.Fetch
		mail, fetches = newDelivery(d.Name, name)
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return nil, err
		}
	}
	mail.open(d)
	return mail, nil
}

// load reads a team and the given fetches in one round trip. A team that does not exist is
// NotFound.
func load(ctx context.Context, r store.Reader, name string, more ...*store.Fetch) (*document, error) {
	var d document
	f := teams.Fetch(docID(name), &d)
	if err := store.Load(ctx, r, append([]*store.Fetch{f}, more...)...); err != nil {
		return nil, err
	}
	if !f.Found {
		return nil, fault.New(fault.NotFound, "Team %s does not exist", name)
	}
	if d.ID == "" { // stored before teams had ids
		d.ID = docID(name)
	}
	return &d, nil
}
