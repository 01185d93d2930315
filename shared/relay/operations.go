package relay

import (
	"strings"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// SendInput is the input of send_message.
type SendInput struct {
	op.Idempotency
	Message     string           `json:"message" allow:"nonempty,max=4000"`
	Source      string           `json:"source,omitempty" allow:"max=100,rare" jsonschema:"who sends; by default your program"`
	Target      string           `json:"target" allow:"nonempty,max=201,pattern=target" jsonschema:"a program, a session (claude/2), group:name, or all"`
	MessageType string           `json:"message_type" allow:"enum=PING|PONG|HANDSHAKE|DIRECTIVE|STATUS|ACK|QUERY|RESULT" jsonschema:"DIRECTIVE and QUERY come until acknowledged"`
	Priority    task.Priority    `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	Action      string           `json:"action,omitempty" allow:"enum=interrupt|sprint|parallel|queue|backlog,default=queue,rare"`
	Context     string           `json:"context,omitempty" allow:"max=2000,rare"`
	Delivery    string           `json:"delivery,omitempty" allow:"enum=one|each,default=one,rare" jsonschema:"each: every live session of it"`
	SessionID   string           `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"yours"`
	ReplyTo     string           `json:"reply_to,omitempty" allow:"max=100"`
	ThreadID    string           `json:"threadId,omitempty" allow:"max=100"`
	TTL         int64            `json:"ttl,omitempty" allow:"over=0,max=31536000,default=86400,rare" jsonschema:"seconds until it expires unread"`
	Provenance  *task.Provenance `json:"provenance,omitempty" allow:"rare"`
}

// SendOutput is the output of send_message. Where the target stands for several programs, MessageID is the id of the
// multicast.
type SendOutput struct {
	MessageID   string    `json:"messageId"`
	MulticastID string    `json:"multicastId,omitempty"`
	MessageIDs  []string  `json:"messageIds,omitempty"`
	Recipients  int       `json:"recipients,omitempty"`
	Source      string    `json:"source"`
	Verified    bool      `json:"verified"`
	Target      string    `json:"target"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Warning     string    `json:"warning,omitempty"`
}

// GetInput is the input of get_messages.
type GetInput struct {
	Target           string        `json:"target,omitempty" allow:"max=201" jsonschema:"whose inbox; by default your program's"`
	SessionID        string        `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"yours"`
	MarkAsRead       *bool         `json:"markAsRead,omitempty" allow:"default=true,rare" jsonschema:"false to peek"`
	MessageType      string        `json:"message_type,omitempty" allow:"enum=PING|PONG|HANDSHAKE|DIRECTIVE|STATUS|ACK|QUERY|RESULT,rare"`
	Priority         task.Priority `json:"priority,omitempty" allow:"enum=low|normal|high,rare"`
	ThreadID         string        `json:"threadId,omitempty" allow:"max=100,rare"`
	IncludeDelivered bool          `json:"includeDelivered,omitempty" allow:"default=false" jsonschema:"the history, by page; marks nothing"`
	Limit            int           `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Confirm          bool          `json:"confirm,omitempty" allow:"rare" jsonschema:"ask for a receipt"`
	Receipt          string        `json:"receipt,omitempty" allow:"max=100,rare" jsonschema:"of your last read, which arrived"`
	Cursor           string        `json:"cursor,omitempty" allow:"max=2000,rare" jsonschema:"a nextCursor, with includeDelivered"`
	WaitMs           int           `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a first message"`
}

// GetOutput is the output of get_messages.
type GetOutput struct {
	Messages   []View `json:"messages"`
	Receipt    string `json:"receipt,omitempty" jsonschema:"pass it to your next read"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// AckInput is the input of ack_messages.
type AckInput struct {
	MessageIDs []string `json:"messageIds" allow:"nonempty,max=100,each=100,pattern=id"`
}

// AckOutput is the output of ack_messages.
type AckOutput struct {
	Acked    []string `json:"acked"`
	NotFound []string `json:"notFound"`
}

// DeadInput is the input of get_dead_letters.
type DeadInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
}

// DeadOutput is the output of get_dead_letters.
type DeadOutput struct {
	Messages   []DeadLetter `json:"messages"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// DeadLetter is a message that expired unread or was never acknowledged.
type DeadLetter struct {
	View
	Reason string    `json:"reason" jsonschema:"expired (never read) or unacknowledged"`
	DiedAt time.Time `json:"diedAt"`
}

// SetGroupInput is the input of set_group.
type SetGroupInput struct {
	Name    string   `json:"name" allow:"nonempty,max=100,pattern=name"`
	Members []string `json:"members" allow:"max=100,each=100,pattern=name" jsonschema:"all programs of the group; none removes it"`
	Open    *bool    `json:"open,omitempty" jsonschema:"whether any program may join"`
}

// SetGroupOutput is the output of set_group.
type SetGroupOutput struct {
	GroupView
	Removed bool   `json:"removed,omitempty"`
	Warning string `json:"warning,omitempty"`
}

// ListGroupsInput is the input of list_groups.
type ListGroupsInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
}

// ListGroupsOutput is the output of list_groups.
type ListGroupsOutput struct {
	Groups     []GroupView `json:"groups"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// GroupView is a group as callers see it.
type GroupView struct {
	Name      string    `json:"name"`
	Members   []string  `json:"members"`
	Open      bool      `json:"open,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// View is a message as its reader sees it.
type View struct {
	ID            string           `json:"id"`
	Source        string           `json:"source"`
	Verified      bool             `json:"verified" jsonschema:"whether the source is the program of the key that sent it"`
	SourceSession string           `json:"sourceSession,omitempty" jsonschema:"the address of the session that sent it"`
	Target        string           `json:"target"`
	AddressedTo   string           `json:"addressedTo,omitempty" jsonschema:"the session that it was for, which has ended"`
	MulticastID   string           `json:"multicastId,omitempty" jsonschema:"others got a copy with the same one"`
	Message       string           `json:"message"`
	MessageType   string           `json:"message_type"`
	Priority      task.Priority    `json:"priority"`
	Action        string           `json:"action,omitempty"`
	Context       string           `json:"context,omitempty"`
	SessionID     string           `json:"sessionId,omitempty"`
	ReplyTo       string           `json:"reply_to,omitempty"`
	ThreadID      string           `json:"threadId,omitempty"`
	Provenance    *task.Provenance `json:"provenance,omitempty"`
	Status        State            `json:"status"`
	CreatedAt     time.Time        `json:"createdAt"`
	ExpiresAt     time.Time        `json:"expiresAt"`
	Deliveries    int              `json:"deliveries"`
	NeedsAck      bool             `json:"needsAck,omitempty"`
	Again         bool             `json:"again,omitempty" jsonschema:"you may have read it before"`
}

func view(id string, m Message) View {
	return View{
		ID:            id,
		Source:        m.Source,
		Verified:      m.Verified,
		SourceSession: sourceSession(m),
		Target:        m.Target,
		AddressedTo:   m.AddressedTo,
		MulticastID:   m.MulticastID,
		Message:       m.Text,
		MessageType:   m.Type,
		Priority:      m.Priority,
		Action:        m.Action,
		Context:       m.Context,
		SessionID:     m.SessionID,
		ReplyTo:       m.ReplyTo,
		ThreadID:      m.ThreadID,
		Provenance:    m.Provenance,
		Status:        m.State,
		CreatedAt:     m.CreatedAt,
		ExpiresAt:     m.ExpiresAt,
		Deliveries:    m.Deliveries,
		NeedsAck:      m.WantsAck() && m.State != Acked,
		Again:         m.Again,
	}
}

// sourceSession returns the address of the session that sent a message, empty if it is unknown or not of the source.
func sourceSession(m Message) string {
	if address := identity.Address(m.Source, m.SessionID); m.Verified && address != m.SessionID ||
		strings.HasPrefix(address, m.Source+"/") {
		return address
	}
	return ""
}

// The ways of delivery to a program with several sessions.
const deliveryEach = "each"

// peek is the input of a read that marks nothing.
var peek = map[string]any{"markAsRead": false}

// ServedByDefault returns true: the default endpoint serves the tools of the mail.
func (*Service) ServedByDefault() bool { return true }

// Guide returns the lines that lead an agent to its mail.
func (*Service) Guide() []op.Guide {
	return []op.Guide{
		{Line: "Mail for you: %s.", Tools: []string{"get_messages"}},
		{Line: "Acknowledge a DIRECTIVE or QUERY with %s.", Tools: []string{"ack_messages"}},
	}
}

// Operations returns the operations of the mail.
func (s *Service) Operations() []op.Op {
	const set = "relay"
	return []op.Op{
		op.New(op.Spec{
			Name:    "send_message",
			Also:    op.ForAgents,
			Starts:  op.Always,
			Title:   "Send a message",
			Toolset: set,
			Route:   "POST /v1/messages",
			Effect:  op.Write,
			Creates: true,
			Cases:   sendCases,
			Doc: "Send a message to another agent or program, to a group, or broadcast it to all: tell, ask, " +
				"direct or report. It waits in the recipient's inbox until it is read. An unknown recipient " +
				"brings a warning.",
		}, s.Send),
		op.New(op.Spec{
			Name:    "get_messages",
			Also:    op.ForAgents,
			Title:   "Read messages",
			Toolset: set,
			Route:   "POST /v1/messages/read",
			Effect:  op.Consume,
			Cases:   getCases,
			Compat:  []op.Compat{{Route: "GET /v1/messages", Peek: peek}, {Route: "GET /v1/interrupts/peek", Set: peek}},
			Doc: "Check your inbox for messages from other agents, high priority first, then oldest. What is " +
				"read is marked delivered; acknowledge a DIRECTIVE or QUERY with ack_messages or it comes again. " +
				"With waitMs it waits for mail.",
		}, s.Get),
		op.New(op.Spec{
			Name:    "ack_messages",
			Also:    op.ForAgents,
			Starts:  op.Never,
			Title:   "Acknowledge messages",
			Toolset: set,
			Route:   "POST /v1/messages/ack",
			Effect:  op.Write,
			Cases:   ackCases,
			Doc: "Confirm that you received and took up messages, so that they are not delivered again. Ids " +
				"of messages that are not yours come back in notFound.",
		}, s.Ack),
		op.New(op.Spec{
			Name:    "get_dead_letters",
			Title:   "List dead letters",
			Toolset: set,
			Route:   "GET /v1/messages/dead",
			Effect:  op.Read,
			Cases:   deadCases,
			Doc: "Find messages that failed: those you sent or were to get that expired unread or were never acknowledged, newest " +
				"first. One shows within 15 minutes, for 7 days.",
		}, s.DeadLetters),
		op.New(op.Spec{
			Name:    "set_group",
			Title:   "Set a group",
			Toolset: set,
			Route:   "PUT /v1/groups/{name}",
			Effect:  op.Write,
			Grows:   true,
			Cases:   setGroupCases,
			Doc: "Make, change or remove a group of programs that one message reaches as group:name. The " +
				"members given replace those before; an empty list removes the group.",
		}, s.SetGroup),
		op.New(op.Spec{
			Name:    "list_groups",
			Title:   "List groups",
			Toolset: set,
			Route:   "GET /v1/groups",
			Effect:  op.Read,
			Cases:   listGroupsCases,
			Doc:     "See which groups of programs there are to send to as group:name, and who is in them.",
		}, s.ListGroups),
	}
}
