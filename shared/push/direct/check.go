package direct

import (
	"errors"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/push/ntfy"
	"parley.internal/shared/push/outbound"
	"parley.internal/shared/push/webhook"
	"parley.internal/shared/push/webpush"
)

// Check returns a fault with all problems of an address, by the fields of register_device; Precondition if the server
// cannot reach the platform.
func (s *Sender) Check(a push.Address) error {
	var wrong []fault.Problem
	add := func(path string, err error) {
		if err != nil {
			wrong = append(wrong, fault.Problem{Path: path, Message: err.Error()})
		}
	}
	switch a.Platform {
	case push.WebPush:
		if s.key == "" {
			return fault.New(fault.Precondition, "this server has no VAPID key, so it cannot send Web Push: set "+
				"PARLEY_VAPID_KEY, which infra/deploy does")
		}
		add("subscription.endpoint", outbound.CheckURL(a.URL, s.private))
		field, err := webpush.CheckSubscription(a.P256dh, a.Auth)
		add("subscription.keys."+field, err)
	case push.Ntfy:
		s.checkTopic(add, "url", a.URL)
		if a.Reply != "" {
			s.checkTopic(add, "reply", a.Reply)
			if !ntfy.SameServer(a.URL, a.Reply) {
				add("reply", errors.New("must be a topic on the server of url, which alone may see the token"))
			}
		}
	case push.Webhook:
		add("url", outbound.CheckURL(a.URL, s.private))
		if a.Secret != "" {
			add("secret", webhook.CheckSecret(a.Secret))
		}
	}
	if len(wrong) > 0 {
		return fault.Problems(wrong...)
	}
	return nil
}

func (s *Sender) checkTopic(add func(string, error), path, url string) {
	if err := outbound.CheckURL(url, s.private); err != nil {
		add(path, err)
		return
	}
	add(path, ntfy.CheckTopic(url))
}
