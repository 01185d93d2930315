package push

import (
	"context"
	"log/slog"
	"time"
)

// Channel is what a push is about, as a phone groups it.
type Channel string

// The channels.
const (
	Questions Channel = "questions"
	Alerts    Channel = "alerts"
	Dreams    Channel = "dreams"
	Tasks     Channel = "tasks"
)

// Priority says how urgently a device is woken.
type Priority string

// The priorities.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
)

// Notice is what a push says. It carries nothing that its reader must not leave lying on a locked screen: no key, no
// context, no instructions.
type Notice struct {
	Channel     Channel
	Title, Body string
	// Type is what kind of document it is about: question, alert, task, dream or session.
	Type string
	// TaskID or SessionID names the document.
	TaskID, SessionID string
	Priority          Priority
	// URL is the page to open; empty where none is known.
	URL string
	// Options are the answers that a question offers, at most 5 of at most 100 characters.
	Options []string
	// Key is the same for notices of which the later replaces the earlier on a device: at most 32 characters of the
	// base64url alphabet, as the narrowest of the services wants.
	Key string
	// TTL is for how long a device that is off is waited for; what is over 28 days is 28 days.
	TTL time.Duration
	// Badge is how many questions wait for an answer; nil leaves the badge as it is.
	Badge *int
}

// Result is what became of a push to one device.
type Result int

// The results.
const (
	Sent   Result = iota
	Dead          // the token will never work again
	Failed        // it may work later
)

// MaxTokens is how many devices one call rings.
const MaxTokens = 500

// Sender rings devices.
type Sender interface {
	// Send rings the devices of at most [MaxTokens] tokens and answers for each, in their order. Without a token there
	// is nobody to ring, which is no error. An error says that nothing is known of any device; a fault's kind says
	// whether trying again can mend it.
	Send(ctx context.Context, n Notice, tokens []string) ([]Result, error)
}

// Log writes notices to the log, and hands them on to the next sender. Without a next one it calls every token rung: it
// is the sender of a machine without a push service.
type Log struct {
	To   *slog.Logger
	Then Sender
}

// Send implements [Sender].
func (l Log) Send(ctx context.Context, n Notice, tokens []string) ([]Result, error) {
	l.To.InfoContext(ctx, "push", "channel", string(n.Channel), "title", n.Title, "body", n.Body, "url", n.URL,
		"devices", len(tokens))
	if l.Then != nil {
		return l.Then.Send(ctx, n, tokens)
	}
	return make([]Result, len(tokens)), nil
}
