package signal

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// Direct sends pushes to devices at addresses of their own.
type Direct interface {
	// Check returns a fault if pushes cannot be sent to the address.
	Check(a push.Address) error
	// PublicKey returns the key with which browsers subscribe to pushes; empty if there is none.
	PublicKey() string
	// Send delivers a notice and returns the outcome for each target, in their order.
	Send(ctx context.Context, n push.Notice, targets []push.Target) []push.Outcome
	// Listen calls each for every message of the device's reply topic after the one with the id since, until it fails.
	Listen(ctx context.Context, t push.Target, since string, each func(id, text string) error) error
}

// address is the secret part of a device with an address of its own. Its id is that of the device. An app that reads the
// person's devices does not see it.
type address struct {
	push.Address
	// KeyID and Assurance are those of the person's key that registered the device. The device answers with no more.
	KeyID     string             `json:"keyId"`
	Assurance identity.Assurance `json:"assurance"`
	// HeldUntil is the time before which no push is sent to the device, because its push service asked for a pause.
	HeldUntil time.Time `json:"heldUntil,omitzero"`
	// ListensSince is set for a device with a reply topic, and Seen is the id of the last message there that was handled.
	ListensSince time.Time `json:"listensSince,omitzero"`
	Seen         string    `json:"seen,omitempty"`
}

var addresses = store.Collection[address]{Name: "deviceAddresses", AllUsers: []string{"listensSince"},
	Unindexed: []string{"url", "p256dh", "auth", "token", "secret", "reply", "seen"}}

// address returns the address of the input, or a fault that names every field that is missing or does not belong to the
// platform.
func (in DeviceInput) address() (push.Address, error) {
	a := push.Address{Platform: push.Platform(in.Platform), URL: in.URL, Secret: in.Secret, Reply: in.Reply,
		Private: in.Private}
	if a.Platform.Direct() {
		a.Token = in.Token
	}
	if in.Subscription != nil {
		a.URL, a.P256dh, a.Auth = in.Subscription.Endpoint, in.Subscription.Keys.P256dh, in.Subscription.Keys.Auth
	}
	var wrong []fault.Problem
	for _, f := range []struct {
		path      string
		given     bool
		must, may []push.Platform
	}{
		{"token", in.Token != "", []push.Platform{"android", "ios", "web"}, []push.Platform{push.Ntfy}},
		{"subscription", in.Subscription != nil, []push.Platform{push.WebPush}, nil},
		{"url", in.URL != "", []push.Platform{push.Ntfy, push.Webhook}, nil},
		{"secret", in.Secret != "", nil, []push.Platform{push.Webhook}},
		{"reply", in.Reply != "", nil, []push.Platform{push.Ntfy}},
		{"private", in.Private, nil, []push.Platform{push.WebPush, push.Ntfy, push.Webhook}},
	} {
		must, may := contains(f.must, a.Platform), contains(f.may, a.Platform)
		switch {
		case must && !f.given:
			wrong = append(wrong, fault.Problem{Path: f.path, Message: "is required for the platform " + in.Platform})
		case f.given && !must && !may:
			wrong = append(wrong, fault.Problem{Path: f.path, Message: "is not for the platform " + in.Platform})
		}
	}
	if len(wrong) > 0 {
		return a, fault.Problems(wrong...)
	}
	return a, nil
}

func contains(list []push.Platform, p push.Platform) bool {
	for _, q := range list {
		if p == q {
			return true
		}
	}
	return false
}

// check returns a fault if this server cannot send pushes to the address.
func (s *Service) check(a push.Address) error {
	switch {
	case !a.Platform.Direct():
		return nil
	case s.Direct == nil:
		return fault.New(fault.Precondition, "this server sends no pushes to devices of the platform %s", a.Platform)
	case a.Reply != "" && !s.Listens:
		return fault.New(fault.Precondition, "this server follows no reply topics: leave reply out, and buttons answer at "+
			"the address of the server")
	}
	return s.Direct.Check(a)
}

// next returns the document of an address that a person registers, in place of the one that there was, if any.
func (old address) next(a push.Address, c identity.Caller, now time.Time) address {
	out := address{Address: a, KeyID: c.KeyID, Assurance: cmp.Or(c.Assurance, identity.Local), HeldUntil: old.HeldUntil}
	if a.Reply == "" {
		return out
	}
	if out.ListensSince = now; old.Reply == a.Reply {
		out.ListensSince, out.Seen = old.ListensSince, old.Seen
	}
	return out
}
