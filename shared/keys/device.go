package keys

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// device reports whether the key is that of a paired device, and valid.
func (k Key) device(now time.Time) bool {
	return k.assured() == identity.Device && k.valid(now) == nil
}

// devices returns the paired devices of a user: the valid keys with the assurance device. One whose maker was revoked is
// not valid.
func (s *Service) devices(ctx context.Context, r store.Reader, now time.Time) ([]View, error) {
	var found []View
	var above [][]string
	invalid := map[string]bool{}
	err := allKeys(ctx, r, func(id string, k Key) error {
		if invalid[id] = k.valid(now) != nil; k.device(now) {
			found, above = append(found, view(id, k)), append(above, k.Ancestors)
		}
		return nil
	})
	var out []View
	for i, v := range found {
		if !slices.ContainsFunc(above[i], func(id string) bool { return invalid[id] }) {
			out = append(out, v)
		}
	}
	return out, err
}

// Paired reports whether a user has a paired device. It reads all keys.
func (s *Service) Paired(ctx context.Context, user string) (bool, error) {
	devices, err := s.devices(ctx, s.DB.User(user), s.Now())
	return len(devices) > 0, err
}
