package push

import (
	"context"
	"time"
)

// Platform is a way to reach a device.
type Platform string

// The platforms whose devices have an address of their own. All others are reached by tokens, through a [Sender].
const (
	WebPush Platform = "webpush"
	Ntfy    Platform = "ntfy"
	Webhook Platform = "webhook"
)

// Direct reports whether devices of the platform have an address of their own.
func (p Platform) Direct() bool { return p == WebPush || p == Ntfy || p == Webhook }

// Address is the address of a device without a push service of apps. All of it is secret: who knows the URL of a topic
// or of a subscription can use it.
type Address struct {
	Platform Platform `json:"platform"`
	// URL is the endpoint of a subscription to Web Push, the topic of ntfy, or the webhook.
	URL string `json:"url"`
	// P256dh and Auth are the keys of a subscription to Web Push, in base64url.
	P256dh string `json:"p256dh,omitempty"`
	Auth   string `json:"auth,omitempty"`
	// Token is the access token of the ntfy server; empty for none.
	Token string `json:"token,omitempty"`
	// Secret signs the calls of a webhook, in base64 after whsec_; empty for no signature.
	Secret string `json:"secret,omitempty"`
	// Reply is the topic of ntfy to which buttons publish answers; empty for none.
	Reply string `json:"reply,omitempty"`
	// Private leaves everything but the title and the page out.
	Private bool `json:"private,omitempty"`
}

// Target is a device that is notified at its address.
type Target struct {
	Address
	// Answer is the token with which the device answers the question of the notice once; empty for none.
	Answer string
}

// Outcome is the outcome of a push to one target.
type Outcome struct {
	Result Result
	// Wait is the time before which another try cannot succeed; zero for unknown.
	Wait time.Duration
	// Reason is the reason for which the push was not sent, without the address.
	Reason string
}

// Courier delivers notices to targets of one platform. It is safe for concurrent use.
type Courier interface {
	Deliver(ctx context.Context, n Notice, t Target) Outcome
}

// AnswerPath is the path at which the hub takes an [Answer].
const AnswerPath = "/v1/answers"

// Answer is the answer to a question that a device gives with a one-time token: one of the options, or a text.
type Answer struct {
	Token string `json:"token"`
	// Option is the number of an option of the question, counted from 1.
	Option int    `json:"option,omitempty"`
	Text   string `json:"text,omitempty"`
}
