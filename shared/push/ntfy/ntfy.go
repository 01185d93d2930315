package ntfy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
)

// Courier delivers notices to topics.
type Courier struct {
	// Client makes the requests; see [outbound.Client].
	Client *http.Client
	Now    func() time.Time
}

var _ push.Courier = (*Courier)(nil)

var topicName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// split returns the URL of the server and the name of a topic.
func split(topic string) (server, name string, err error) {
	u, err := url.Parse(topic)
	if err != nil {
		return "", "", err
	}
	i := strings.LastIndexByte(u.Path, '/')
	if i < 0 || u.RawQuery != "" || !topicName.MatchString(u.Path[i+1:]) {
		return "", "", errors.New("must be the URL of a topic, such as https://ntfy.example.org/a-name, with a name of " +
			"at most 64 letters, digits, - and _")
	}
	return u.Scheme + "://" + u.Host + u.Path[:i+1], u.Path[i+1:], nil
}

// CheckTopic returns an error that completes a sentence such as "url …" if the text is not the URL of a topic.
func CheckTopic(text string) error {
	_, _, err := split(text)
	return err
}

// SameServer reports whether two topics are on the same server.
func SameServer(a, b string) bool {
	first, _, err := split(a)
	second, _, again := split(b)
	return err == nil && again == nil && first == second
}

// message is a message of ntfy, which is published as JSON.
type message struct {
	Topic      string   `json:"topic"`
	SequenceID string   `json:"sequence_id,omitempty"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Priority   int      `json:"priority"`
	Tags       []string `json:"tags,omitempty"`
	Click      string   `json:"click,omitempty"`
	Actions    []action `json:"actions,omitempty"`
}

type action struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Clear   bool              `json:"clear,omitempty"`
}

const (
	// maxActions is the maximum number of buttons.
	maxActions = 3
	// maxLabel is the maximum length of a button's label, in characters.
	maxLabel = 30
)

// Deliver implements [push.Courier].
func (c *Courier) Deliver(ctx context.Context, n push.Notice, t push.Target) push.Outcome {
	server, topic, err := split(t.URL)
	if err != nil {
		return push.Outcome{Result: push.Refused, Reason: "its URL is no topic: register it again"}
	}
	m := message{Topic: topic, SequenceID: n.Key, Title: n.Title, Message: n.Body, Priority: priority(n.Priority),
		Tags: []string{tag(n.Channel)}, Click: n.URL}
	if t.Private {
		m.Message = "Open the page to read it."
	} else {
		m.Actions = buttons(n, t)
	}
	status, out := c.publish(ctx, server, t.Token, m)
	if status == http.StatusRequestEntityTooLarge {
		m.Actions, m.Message = nil, push.Line(m.Message, 100)
		status, out = c.publish(ctx, server, t.Token, m)
	}
	switch status {
	case http.StatusGone:
		out.Result = push.Dead
	case http.StatusUnauthorized, http.StatusForbidden:
		out.Reason += ": the ntfy server refuses the token of the device"
	}
	return out
}

func (c *Courier) publish(ctx context.Context, server, token string, m message) (status int, out push.Outcome) {
	text, err := json.Marshal(m)
	if err != nil {
		return 0, push.Outcome{Result: push.Refused, Reason: err.Error()}
	}
	r, err := request(ctx, http.MethodPost, server, token, text)
	if err != nil {
		return 0, outbound.Failure(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return outbound.Do(c.Client, r, c.Now)
}

func request(ctx context.Context, method, url, token string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err == nil && token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, err
}

// buttons returns the buttons of a notice: one for each option of a question that the device may answer, and the page
// where there is room for it. A question with more options than buttons has the page alone, because some of the options
// would look like all of them.
func buttons(n push.Notice, t push.Target) []action {
	var out []action
	to := t.Reply
	if to == "" {
		to = n.AnswerURL
	}
	if t.Answer != "" && to != "" && len(n.Options) <= maxActions {
		for i, option := range n.Options {
			text, err := json.Marshal(push.Answer{Token: t.Answer, Option: i + 1})
			if err != nil {
				return nil
			}
			a := action{Action: "http", Label: push.Line(option, maxLabel), URL: to, Method: http.MethodPost,
				Body: string(text), Clear: true}
			if t.Reply == "" {
				a.Headers = map[string]string{"Content-Type": "application/json"}
			}
			out = append(out, a)
		}
	}
	if n.URL != "" && len(out) < maxActions {
		out = append(out, action{Action: "view", Label: "Open", URL: n.URL})
	}
	return out
}

func priority(p push.Priority) int {
	switch p {
	case push.Low:
		return 2
	case push.High:
		return 5
	}
	return 3
}

// tag returns the tag of a channel, which ntfy shows as a picture.
func tag(c push.Channel) string {
	switch c {
	case push.Questions:
		return "question"
	case push.Alerts:
		return "rotating_light"
	case push.Dreams:
		return "crescent_moon"
	}
	return "clipboard"
}
