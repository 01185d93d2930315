package keys

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Revoke revokes a key and all keys that it made, theirs included: in this process at once, in others within 60 seconds.
// A repeated call changes nothing. An agent's key may revoke itself, the keys of its program and those that it made;
// others are Forbidden. A key that does not exist is NotFound.
func (s *Service) Revoke(ctx context.Context, c identity.Caller, in RevokeInput) (View, error) {
	var out View
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		k, err := apiKeys.Get(ctx, tx, in.KeyID)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "no key with id %q", in.KeyID)
		}
		if err != nil {
			return err
		}
		if err := k.mayRevoke(c, in.KeyID, now); err != nil {
			return err
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt, k.PurgeAt = now, now.Add(keptRevoked)
			apiKeys.Put(tx, in.KeyID, k)
		}
		out = view(in.KeyID, k)
		return nil
	})
	if err != nil {
		return out, err
	}
	if s.Revoked != nil {
		s.Revoked(in.KeyID)
	}
	err = s.revokeDescendants(ctx, c.User, in.KeyID, now)
	s.changed(c.User)
	return out, err
}

// GiveBack revokes the key in the input, with all keys that it made, for any caller: the holder of a key may end it. An
// unknown key is Unauthenticated, and a revoked one stays so.
func (s *Service) GiveBack(ctx context.Context, c identity.Caller, in GiveBackInput) (View, error) {
	user, id, k, err := s.find(ctx, in.Key)
	if err != nil {
		return View{}, err
	}
	holder := k.caller(user, id)
	holder.Address = c.Address
	return s.Revoke(ctx, holder, RevokeInput{id})
}

// mayRevoke returns Forbidden if the caller may not revoke the key of that id. A paired device is revoked by a device,
// or by the operator, whose caller is without a key: anyone else who revoked the last one could then pair as the first.
func (k Key) mayRevoke(c identity.Caller, id string, now time.Time) error {
	if k.device(now) && c.IsHuman() && c.KeyID != "" && !c.Assurance.Meets(identity.Device) {
		return fault.New(fault.Forbidden, "the key %.12s is a paired device: revoke it from a device, or run "+
			"`parley key revoke` at a terminal of the server's machine", id)
	}
	own := c.Bound() && identity.Same(k.Program, c.Program)
	if c.IsHuman() || id == c.KeyID || own || slices.Contains(k.Ancestors, c.KeyID) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"only the key that made the key %.12s, a key of its program or a human may revoke it; %s", id, c)
}

// revokeDescendants records the revocation of the keys below a revoked one, which are not valid any more already.
func (s *Service) revokeDescendants(ctx context.Context, user, id string, now time.Time) error {
	q := store.Query{Where: []store.Cond{store.Contains("ancestors", id)}, Order: []string{"createdAt desc"}, Limit: 100}
	for {
		page, err := apiKeys.Query(ctx, s.DB.User(user), q)
		if err != nil || len(page.Docs) == 0 {
			return err
		}
		err = s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, d := range page.Docs {
				if d.Value.RevokedAt.IsZero() {
					apiKeys.Patch(tx, d.ID, store.Set("revokedAt", now), store.Set("purgeAt", now.Add(keptRevoked)))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, d := range page.Docs {
			if s.Revoked != nil {
				s.Revoked(d.ID)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}
