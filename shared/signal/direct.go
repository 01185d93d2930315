package signal

import (
	"context"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

// directFor is the time after its first attempt in which a push is sent again to devices at addresses of their own.
// Unlike a push service, a system of the person's may be down for good.
const directFor = time.Hour

// attempt is the result of sending a push to some devices: the ids of those to try again, the time before which that
// cannot succeed, the ids of those that no longer exist, and the pauses that push services asked for.
type attempt struct {
	left, dead []string
	notBefore  time.Time
	held       map[string]time.Time
}

// add adds another attempt. A device without a time of its own is tried again at once.
func (a *attempt) add(b attempt) {
	switch {
	case len(b.left) == 0:
	case len(a.left) == 0:
		a.notBefore = b.notBefore
	case b.notBefore.Before(a.notBefore):
		a.notBefore = b.notBefore
	}
	a.left, a.dead = append(a.left, b.left...), append(a.dead, b.dead...)
	for id, until := range b.held {
		if a.held == nil {
			a.held = map[string]time.Time{}
		}
		a.held[id] = until
	}
}

// miss adds a device that was not reached, and cannot be before a time.
func (a *attempt) miss(id string, notBefore time.Time) {
	a.add(attempt{left: []string{id}, notBefore: notBefore})
}

// sendDirect sends a push to devices at addresses of their own.
func (s *Service) sendDirect(ctx context.Context, user string, n push.Notice, list []store.Doc[Device],
	now time.Time) (attempt, error) {
	var out attempt
	if len(list) == 0 || s.Direct == nil {
		return out, nil
	}
	found, fetches := make([]address, len(list)), make([]*store.Fetch, len(list))
	for i, d := range list {
		fetches[i] = addresses.Fetch(d.ID, &found[i])
	}
	if err := store.Load(ctx, s.DB.User(user), fetches...); err != nil {
		return out, err
	}
	var ids []string
	var to []address
	var targets []push.Target
	for i, d := range list {
		switch a := found[i]; {
		case !fetches[i].Found:
		case a.HeldUntil.After(now):
			out.miss(d.ID, a.HeldUntil)
		default:
			ids, to, targets = append(ids, d.ID), append(to, a), append(targets, push.Target{Address: a.Address})
		}
	}
	if len(targets) == 0 {
		return out, nil
	}
	if err := s.mintTokens(ctx, user, n, ids, to, targets, now); err != nil {
		return out, err
	}
	for i, o := range s.Direct.Send(ctx, n, targets) {
		switch o.Result {
		case push.Dead:
			out.dead = append(out.dead, ids[i])
		case push.Failed:
			until := now.Add(o.Wait)
			out.miss(ids[i], until)
			if o.Wait > 0 {
				out.add(attempt{held: map[string]time.Time{ids[i]: until}})
			}
		}
	}
	return out, nil
}

// hold records the pauses of devices, as far as they still exist.
func (s *Service) hold(ctx context.Context, user string, held map[string]time.Time) error {
	if len(held) == 0 {
		return nil
	}
	return s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var ids []string
		found := make([]address, len(held))
		var fetches []*store.Fetch
		for id := range held {
			fetches = append(fetches, addresses.Fetch(id, &found[len(ids)]))
			ids = append(ids, id)
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		for i, id := range ids {
			if fetches[i].Found {
				addresses.Patch(tx, id, store.Set("heldUntil", held[id]))
			}
		}
		return nil
	})
}
