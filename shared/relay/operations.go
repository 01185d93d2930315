package relay

import (
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// SendInput is the input of send_message.
type SendInput struct {
	op.Idempotency
	Message     string           `json:"message" allow:"nonempty,max=4000"`
	Source      string           `json:"source" allow:"max=100" jsonschema:"who sends; a key bound to a program sends as that program"`
	Target      string           `json:"target" allow:"nonempty,max=100,pattern=target" jsonschema:"a program, group:name, or all"`
	MessageType string           `json:"message_type" allow:"enum=PING|PONG|HANDSHAKE|DIRECTIVE|STATUS|ACK|QUERY|RESULT" jsonschema:"DIRECTIVE and QUERY come again until they are acknowledged"`
	Priority    task.Priority    `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	Action      string           `json:"action,omitempty" allow:"enum=interrupt|sprint|parallel|queue|backlog,default=queue"`
	Context     string           `json:"context,omitempty" allow:"max=2000"`
	SessionID   string           `json:"sessionId,omitempty" allow:"max=100"`
	ReplyTo     string           `json:"reply_to,omitempty" allow:"max=100"`
	ThreadID    string           `json:"threadId,omitempty" allow:"max=100"`
	TTL         int64            `json:"ttl,omitempty" allow:"over=0,max=31536000,default=86400" jsonschema:"seconds until it expires unread"`
	Provenance  *task.Provenance `json:"provenance,omitempty"`
}

// SendOutput is what send_message answers.
type SendOutput struct {
	MessageID string    `json:"messageId"`
	Source    string    `json:"source"`
	Verified  bool      `json:"verified"`
	Target    string    `json:"target"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	Warning   string    `json:"warning,omitempty"`
}

// GetInput is the input of get_messages.
type GetInput struct {
	Target           string        `json:"target,omitempty" allow:"max=100" jsonschema:"whose inbox; your key's program where left out"`
	SessionID        string        `json:"sessionId,omitempty" allow:"max=100" jsonschema:"names the inbox, up to its first dot, for a key bound to no program"`
	MarkAsRead       *bool         `json:"markAsRead,omitempty" allow:"default=true" jsonschema:"false to peek"`
	MessageType      string        `json:"message_type,omitempty" allow:"enum=PING|PONG|HANDSHAKE|DIRECTIVE|STATUS|ACK|QUERY|RESULT"`
	Priority         task.Priority `json:"priority,omitempty" allow:"enum=low|normal|high"`
	ThreadID         string        `json:"threadId,omitempty" allow:"max=100"`
	IncludeDelivered bool          `json:"includeDelivered,omitempty" allow:"default=false" jsonschema:"the history too, oldest first, by page; marks nothing"`
	Limit            int           `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor           string        `json:"cursor,omitempty" allow:"max=2000" jsonschema:"nextCursor of the page before, with includeDelivered"`
	WaitMs           int           `json:"waitMs,omitempty" allow:"min=0,max=55000,default=0" jsonschema:"wait this long for a first message"`
}

// GetOutput is what get_messages answers.
type GetOutput struct {
	Messages   []View `json:"messages"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// AckInput is the input of ack_messages.
type AckInput struct {
	MessageIDs []string `json:"messageIds" allow:"nonempty,max=100,each=100,pattern=id"`
}

// AckOutput is what ack_messages answers.
type AckOutput struct {
	Acked    []string `json:"acked"`
	NotFound []string `json:"notFound"`
}

// View is a message as its reader sees it.
type View struct {
	ID          string           `json:"id"`
	Source      string           `json:"source"`
	Verified    bool             `json:"verified" jsonschema:"whether the source is the program of the key that sent it"`
	Target      string           `json:"target"`
	Message     string           `json:"message"`
	MessageType string           `json:"message_type"`
	Priority    task.Priority    `json:"priority"`
	Action      string           `json:"action,omitempty"`
	Context     string           `json:"context,omitempty"`
	SessionID   string           `json:"sessionId,omitempty"`
	ReplyTo     string           `json:"reply_to,omitempty"`
	ThreadID    string           `json:"threadId,omitempty"`
	Provenance  *task.Provenance `json:"provenance,omitempty"`
	Status      State            `json:"status"`
	CreatedAt   time.Time        `json:"createdAt"`
	ExpiresAt   time.Time        `json:"expiresAt"`
	Deliveries  int              `json:"deliveries"`
	NeedsAck    bool             `json:"needsAck,omitempty"`
}

func view(id string, m Message) View {
	return View{ID: id, Source: m.Source, Verified: m.Verified, Target: m.Target, Message: m.Text, MessageType: m.Type,
		Priority: m.Priority, Action: m.Action, Context: m.Context, SessionID: m.SessionID, ReplyTo: m.ReplyTo, ThreadID: m.ThreadID,
		Provenance: m.Provenance, Status: m.State, CreatedAt: m.CreatedAt, ExpiresAt: m.ExpiresAt, Deliveries: m.Deliveries,
		NeedsAck: m.WantsAck() && m.State != Acked}
}

// Operations lists what the mail offers.
func (s *Service) Operations() []op.Op {
	const set = "relay"
	return []op.Op{
		op.New(op.Spec{Name: "send_message", Title: "Send a message", Toolset: set, Route: "POST /v1/messages", Effect: op.Write, Creates: true,
			Doc: "Send a message to another agent or program: tell, ask, direct or report. It waits in the recipient's inbox until it is read. An unknown recipient is answered with a warning that names the known ones."}, s.Send),
		op.New(op.Spec{Name: "get_messages", Title: "Read messages", Toolset: set, Route: "GET /v1/messages", Effect: op.Consume,
			Compat: []op.Compat{{Route: "GET /v1/interrupts/peek", Set: map[string]any{"markAsRead": false}}},
			Doc:    "Check your inbox for messages from other agents, high priority first, then oldest. What is read is marked delivered; acknowledge a DIRECTIVE or QUERY with ack_messages or it comes again. With waitMs it waits for mail."}, s.Get),
		op.New(op.Spec{Name: "ack_messages", Title: "Acknowledge messages", Toolset: set, Route: "POST /v1/messages/ack", Effect: op.Write,
			Doc: "Confirm that you received and took up messages, so that they are not delivered again. Ids of messages that are not yours come back in notFound."}, s.Ack),
	}
}
