package push

import (
	"context"
	"log/slog"
	"time"
)

// Channel is the notification channel of a push, by which a phone groups its notifications.
type Channel string

// The channels.
const (
	Questions Channel = "questions"
	Alerts    Channel = "alerts"
	Dreams    Channel = "dreams"
	Tasks     Channel = "tasks"
)

// Priority is the urgency of a push.
type Priority string

// The priorities.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
)

// Notice is the content of a push. It may appear on a locked screen, so it carries no key, no context and no
// instructions.
type Notice struct {
	// ID names the push in all attempts to send it, at most 64 characters.
	ID          string
	Channel     Channel
	Title, Body string
	// Type is the type of the document that the push is about: question, alert, task, dream or session; or test.
	Type string
	// TaskID or SessionID is the ID of that document.
	TaskID, SessionID string
	Priority          Priority
	// URL is the page to open; empty for none.
	URL string
	// AnswerURL is the address that takes an answer with a one-time token; empty where devices cannot reach it.
	AnswerURL string
	// Options are the answers to a question: at most 5, of at most 100 characters each.
	Options []string
	// Key is the collapse key: on a device a later notice replaces an earlier one that has the same key. It has at most
	// 32 characters of the base64url alphabet, the strictest limit of the push services. Empty replaces nothing.
	Key string
	// TTL is the time for which a push service keeps the push for a device that is offline, at most 28 days; a longer
	// TTL means 28 days.
	TTL time.Duration
	// Badge is the number of unanswered questions, for the badge of the app; nil leaves the badge as it is.
	Badge *int
}

// Result is the outcome of a push to one device.
type Result int

// The results.
const (
	Sent    Result = iota // the push service accepted the push
	Dead                  // the token is invalid for good
	Failed                // another try may succeed
	Refused               // another try cannot succeed, and the device stays
)

// MaxTokens is the maximum number of tokens in one call of [Sender.Send].
const MaxTokens = 500

// Sender delivers notices to devices. It is safe for concurrent use.
type Sender interface {
	// Send delivers n to the devices of at most [MaxTokens] tokens and returns a result for each token, in their order.
	// An empty list of tokens is no error. After an error nothing is known of any device; the kind of the fault tells
	// whether another try may succeed.
	Send(ctx context.Context, n Notice, tokens []string) ([]Result, error)
}

// Log writes notices to a log and passes them on to the next sender. Without a next sender it reports every token as
// [Sent], for a machine without a push service.
type Log struct {
	To   *slog.Logger // must not be nil
	Then Sender       // may be nil
}

// Send implements [Sender]. It logs no tokens.
func (l Log) Send(ctx context.Context, n Notice, tokens []string) ([]Result, error) {
	l.To.InfoContext(ctx, "push", "channel", string(n.Channel), "title", n.Title, "body", n.Body, "url", n.URL,
		"devices", len(tokens))
	if l.Then != nil {
		return l.Then.Send(ctx, n, tokens)
	}
	return make([]Result, len(tokens)), nil
}
