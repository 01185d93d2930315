package webpush

import (
	"encoding/json"

	"parley.internal/shared/push"
)

// payload is the plain text of a push. Its first two members are those of declarative Web Push.
type payload struct {
	WebPush      int          `json:"web_push,omitempty"`
	Mutable      bool         `json:"mutable,omitempty"`
	Notification notification `json:"notification"`
	Parley       parley       `json:"parley"`
}

type notification struct {
	Title    string `json:"title"`
	Body     string `json:"body,omitempty"`
	Navigate string `json:"navigate,omitempty"`
	Tag      string `json:"tag,omitempty"`
	AppBadge *int   `json:"app_badge,omitempty"`
}

type parley struct {
	ID        string       `json:"id,omitempty"`
	Channel   push.Channel `json:"channel"`
	Type      string       `json:"type"`
	TaskID    string       `json:"taskId,omitempty"`
	SessionID string       `json:"sessionId,omitempty"`
	Priority  string       `json:"priority,omitempty"`
	Options   []string     `json:"options,omitempty"`
	Answer    string       `json:"answer,omitempty"`
}

// declarative is the value of the member web_push, the number of the RFC.
const declarative = 8030

// message returns the plain text of a notice.
func message(n push.Notice, t push.Target) ([]byte, error) {
	p := payload{
		Notification: notification{Title: n.Title, Body: n.Body, Navigate: n.URL, Tag: n.Key, AppBadge: n.Badge},
		Parley: parley{ID: n.ID, Channel: n.Channel, Type: n.Type, TaskID: n.TaskID, SessionID: n.SessionID,
			Priority: string(n.Priority), Options: n.Options, Answer: t.Answer},
	}
	if n.URL != "" { // without a page to open no browser shows it by itself
		p.WebPush, p.Mutable = declarative, true
	}
	if t.Private {
		p.Notification.Body, p.Parley.Options, p.Parley.Answer = "", nil, ""
	}
	return json.Marshal(p)
}

// steps are the ways to shorten a notice, tried in order until the message fits: the maximum length of each option and of
// the title and the body, in characters (0 for no limit), and whether the options and the URL are dropped.
var steps = []struct {
	option, text      int
	noOptions, noPage bool
}{
	{},
	{option: 60},
	{option: 20},
	{option: 20, text: 100},
	{text: 100, noOptions: true},
	{text: 40, noOptions: true},
	{text: 20, noOptions: true, noPage: true},
}

// fit returns the message for the notice, shortened to at most limit bytes. Its options keep their order, so that their
// numbers stay true.
func fit(n push.Notice, t push.Target, limit int) ([]byte, error) {
	var text []byte
	for _, step := range steps {
		short, to := n, t
		if step.text > 0 {
			short.Title, short.Body = push.Line(n.Title, step.text), push.Line(n.Body, step.text)
		}
		if step.noPage {
			short.URL = ""
		}
		if step.noOptions {
			short.Options, to.Answer = nil, ""
		} else if step.option > 0 {
			short.Options = make([]string, len(n.Options))
			for i, option := range n.Options {
				short.Options[i] = push.Line(option, step.option)
			}
		}
		var err error
		if text, err = message(short, to); err != nil || len(text) <= limit {
			return text, err
		}
	}
	return text, errTooLong
}
