package team

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Message is a message in a member's inbox.
type Message struct {
	ID        string `json:"id" jsonschema:"orders the inbox"`
	From      string `json:"from"`
	Text      string `json:"text" jsonschema:"plain text, or the JSON of an assignment, a shutdown or a plan approval, with its type"`
	Timestamp string `json:"timestamp"`
	Read      bool   `json:"read"`
	Summary   string `json:"summary,omitempty"`
	Color     string `json:"color,omitempty"`
}

// kept is a message as it is kept.
type kept struct {
	Message
	Agent string `json:"agent"`
	Seq   int64  `json:"seq"`
}

// inbox counts the messages that a member got.
type inbox struct {
	// TeamID tells the inbox from that of an earlier team of the same name.
	TeamID string `json:"teamId"`
	Agent  string `json:"agent"`
	Last   int64  `json:"last"`
}

var (
	inboxes  = store.Collection[inbox]{Name: "teamInboxes", Indexes: []string{"teamId,agent"}}
	messages = store.Collection[kept]{Name: "teams/*/teamMessages", Indexes: []string{"agent,seq", "agent,read,seq"},
		Unindexed: []string{"text", "summary"}}
)

// stamp is a time as the reference writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// post is inboxes while messages are put into them.
type post struct {
	team  *document
	heads map[string]*head
}

type head struct {
	inbox
	fetch *store.Fetch
}

// address prepares to write to members of the team of that name. The fetches are to be
// loaded in the transaction that sends; then [post.open] says whose inboxes they are.
func address(team string, names ...string) (*post, []*store.Fetch) {
	p := &post{heads: map[string]*head{}}
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

// open begins an inbox anew that is not this team's.
func (p *post) open(d *document) {
	p.team = d
	for name, h := range p.heads {
		if !h.fetch.Found || h.TeamID != d.ID {
			h.inbox = inbox{TeamID: d.ID, Agent: name}
		}
	}
}

// send puts a message into an inbox that was addressed and gives it its id.
func (p *post) send(tx *store.Tx, to string, m Message) {
	h := p.heads[to]
	h.Last++
	m.ID = messageID(h.Last)
	messages.Under(p.team.ID).Create(tx, keptID(h.Last, to), kept{Message: m, Agent: to, Seq: h.Last})
}

// close writes what the inboxes have counted. It comes once, after the last send.
func (p *post) close(tx *store.Tx) {
	for name, h := range p.heads {
		inboxes.Put(tx, memberID(p.team.Name, name), h.inbox)
	}
}

func messageID(seq int64) string { return fmt.Sprintf("%010d", seq) }

func keptID(seq int64, agent string) string { return messageID(seq) + ":" + agent }

// payload is the text of a message that is more than words.
func payload(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // strings and booleans alone
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

// load reads a team and what else is fetched with it.
func load(ctx context.Context, r store.Reader, name string, more ...*store.Fetch) (*document, error) {
	var d document
	f := teams.Fetch(docID(name), &d)
	if err := store.Load(ctx, r, append([]*store.Fetch{f}, more...)...); err != nil {
		return nil, err
	}
	if !f.Found {
		return nil, fault.New(fault.NotFound, "Team %s does not exist", name)
	}
	if d.ID == "" { // made before teams had one
		d.ID = docID(name)
	}
	return &d, nil
}
