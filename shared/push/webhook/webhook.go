package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
)

// Courier delivers notices to webhooks.
type Courier struct {
	// Client makes the requests; see [outbound.Client].
	Client *http.Client
	Now    func() time.Time
}

var _ push.Courier = (*Courier)(nil)

// CheckSecret returns an error that completes "secret …" if calls cannot be signed with the secret.
func CheckSecret(secret string) error {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, prefix))
	if err != nil || len(b) < 24 || len(b) > 64 {
		return errors.New("must be 24 to 64 bytes in base64, after whsec_, such as what this prints: " +
			`echo "whsec_$(openssl rand -base64 32)"`)
	}
	return nil
}

const prefix = "whsec_"

// body is the body of a call.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	Channel   push.Channel  `json:"channel"`
	Title     string        `json:"title"`
	Body      string        `json:"body,omitempty"`
	About     string        `json:"about"`
	TaskID    string        `json:"taskId,omitempty"`
	SessionID string        `json:"sessionId,omitempty"`
	Priority  push.Priority `json:"priority,omitempty"`
	URL       string        `json:"url,omitempty"`
	Options   []string      `json:"options,omitempty"`
	Key       string        `json:"key"`
}

// event is the type of all calls.
const event = "push.notice"

// Deliver implements [push.Courier].
func (c *Courier) Deliver(ctx context.Context, n push.Notice, t push.Target) push.Outcome {
	now := c.Now().UTC()
	d := data{Channel: n.Channel, Title: n.Title, Body: n.Body, About: n.Type, TaskID: n.TaskID, SessionID: n.SessionID,
		Priority: n.Priority, URL: n.URL, Options: n.Options, Key: n.Key}
	if t.Private {
		d.Body, d.Options = "", nil
	}
	text, err := json.Marshal(body{event, now, d})
	if err != nil {
		return push.Outcome{Result: push.Refused, Reason: err.Error()}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(text))
	if err != nil {
		return outbound.Failure(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "parley")
	r.Header.Set(standard.HeaderWebhookID, n.ID)
	r.Header.Set(standard.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if t.Secret != "" {
		if err := sign(r, t.Secret, n.ID, now, text); err != nil {
			return push.Outcome{Result: push.Refused, Reason: "its secret is malformed: register it again"}
		}
	}
	status, out := outbound.Do(c.Client, r, c.Now)
	if status == http.StatusGone {
		out.Result = push.Dead
	}
	return out
}

func sign(r *http.Request, secret, id string, now time.Time, text []byte) error {
	signer, err := standard.NewWebhook(secret)
	if err != nil {
		return err
	}
	signature, err := signer.Sign(id, now, text)
	r.Header.Set(standard.HeaderWebhookSignature, signature)
	return err
}
