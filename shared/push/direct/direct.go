package direct

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/shared/push"
	"parley.internal/shared/push/ntfy"
	"parley.internal/shared/push/outbound"
	"parley.internal/shared/push/webhook"
	"parley.internal/shared/push/webpush"
)

// The limits of deliveries: those at the same time in one call of Send, and the time of each.
const (
	atOnce     = 16
	deliverFor = 8 * time.Second
)

// Options configure a [Sender].
type Options struct {
	// Keys are the VAPID keys; without them there is no Web Push.
	Keys webpush.Keys
	// Contact is a mailto: or https: URL of the operator; empty for [webpush.Contact].
	Contact string
	// Private allows addresses that are not public, for a server that listens on loopback alone.
	Private bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log receives the reasons for failed pushes, without addresses; nil discards them.
	Log *slog.Logger
}

// Sender delivers notices to devices at their addresses. It is safe for concurrent use.
type Sender struct {
	couriers map[push.Platform]push.Courier
	topics   *ntfy.Courier
	key      string
	private  bool
	log      *slog.Logger
}

// New returns a sender.
func New(o Options) *Sender {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Contact == "" {
		o.Contact = webpush.Contact
	}
	client := outbound.Client(o.Private)
	s := &Sender{topics: &ntfy.Courier{Client: client, Now: o.Now}, key: o.Keys.Public, private: o.Private, log: o.Log}
	s.couriers = map[push.Platform]push.Courier{
		push.Ntfy:    s.topics,
		push.Webhook: &webhook.Courier{Client: client, Now: o.Now},
	}
	if o.Keys.Private != "" {
		s.couriers[push.WebPush] = &webpush.Courier{Client: client, Keys: o.Keys, Contact: o.Contact, Now: o.Now}
	}
	return s
}

// PublicKey returns the public VAPID key, with which browsers subscribe; empty if there is no Web Push.
func (s *Sender) PublicKey() string { return s.key }

// Send delivers a notice to each target and returns the outcomes in their order. It ends when ctx ends, and has then
// failed for the targets that were not reached.
func (s *Sender) Send(ctx context.Context, n push.Notice, targets []push.Target) []push.Outcome {
	out := make([]push.Outcome, len(targets))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, t := range targets {
		group.Go(func() error {
			out[i] = s.deliver(ctx, n, t)
			return nil
		})
	}
	_ = group.Wait() // no delivery returns an error
	s.record(ctx, targets, out)
	return out
}

func (s *Sender) deliver(ctx context.Context, n push.Notice, t push.Target) push.Outcome {
	courier := s.couriers[t.Platform]
	if courier == nil {
		return push.Outcome{Result: push.Refused, Reason: "this server has no VAPID key"}
	}
	ctx, cancel := context.WithTimeout(ctx, deliverFor)
	defer cancel()
	return courier.Deliver(ctx, n, t)
}

// Listen follows the reply topic of a device; see [ntfy.Courier.Listen].
func (s *Sender) Listen(ctx context.Context, t push.Target, since string, each func(id, text string) error) error {
	return s.topics.Listen(ctx, t, since, func(r ntfy.Reply) error { return each(r.ID, r.Text) })
}

// record logs the number of devices that were not reached on each platform, and one reason.
func (s *Sender) record(ctx context.Context, targets []push.Target, out []push.Outcome) {
	missed, reasons := map[push.Platform]int{}, map[push.Platform]string{}
	for i, o := range out {
		if p := targets[i].Platform; o.Result == push.Failed || o.Result == push.Refused {
			missed[p]++
			reasons[p] = o.Reason
		}
	}
	for p, n := range missed {
		s.log.WarnContext(ctx, "push: devices not reached", "platform", string(p), "failed", n, "said", reasons[p])
	}
}
