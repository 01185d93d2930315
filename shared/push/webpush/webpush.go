package webpush

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	library "github.com/SherClockHolmes/webpush-go"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
)

// Contact is the subject of the hub's tokens where the operator names none. Push services write to it if a hub misbehaves.
const Contact = "mailto:parley@example.com"

// Courier delivers notices to subscriptions.
type Courier struct {
	// Client makes the requests; see [outbound.Client].
	Client *http.Client
	Keys   Keys
	// Contact is a mailto: or https: URL of the hub's operator. Apple refuses those at localhost.
	Contact string
	Now     func() time.Time
}

var _ push.Courier = (*Courier)(nil)

// records are the sizes of the encrypted body that are tried, from the limit that every service must accept.
var records = []uint32{4096, 2048, 1024}

const (
	// overhead is the part of a record that is not the message: salt, size, key, padding delimiter and authentication tag.
	overhead = 16 + 4 + 1 + 65 + 1 + 16
	// maxTTL is the longest lifetime that services accept.
	maxTTL = 28 * 24 * time.Hour
)

var errTooLong = errors.New("the notice is too long, however much it is shortened")

// Deliver implements [push.Courier].
func (c *Courier) Deliver(ctx context.Context, n push.Notice, t push.Target) push.Outcome {
	var out push.Outcome
	for _, size := range records {
		text, err := fit(n, t, int(size)-overhead)
		if err != nil {
			return push.Outcome{Result: push.Refused, Reason: err.Error()}
		}
		var status int
		if status, out = c.send(ctx, text, n, t, size); status != http.StatusRequestEntityTooLarge {
			break
		}
	}
	return out
}

func (c *Courier) send(ctx context.Context, text []byte, n push.Notice, t push.Target,
	size uint32) (status int, out push.Outcome) {
	resp, err := library.SendNotificationWithContext(ctx, text,
		&library.Subscription{Endpoint: t.URL, Keys: library.Keys{P256dh: t.P256dh, Auth: t.Auth}},
		&library.Options{
			HTTPClient:      c.Client,
			RecordSize:      size,
			Subscriber:      strings.TrimPrefix(c.Contact, "mailto:"), // the library adds it
			Topic:           n.Key,
			TTL:             int(min(max(n.TTL, 0), maxTTL) / time.Second),
			Urgency:         urgency(n.Priority),
			VAPIDPublicKey:  c.Keys.Public,
			VAPIDPrivateKey: c.Keys.Private,
		})
	if err != nil {
		return 0, outbound.Failure(err)
	}
	status, out = outbound.Read(resp, c.Now())
	switch status {
	case http.StatusNotFound, http.StatusGone:
		out.Result = push.Dead
	case http.StatusUnauthorized, http.StatusForbidden:
		out.Reason += ": the push service refuses the VAPID key or its contact; the browser subscribed with another key, " +
			"or the contact is not one that the service accepts"
	}
	return status, out
}

// urgency returns high for all but notices of low priority: Apple delivers nothing less at once.
func urgency(p push.Priority) library.Urgency {
	if p == push.Low {
		return library.UrgencyNormal
	}
	return library.UrgencyHigh
}
