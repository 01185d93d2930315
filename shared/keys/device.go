package keys

import (
	"context"
	"regexp"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// pair returns the key that a link gives, as part of a transaction, before its first write.
func (s *Service) pair(ctx context.Context, tx *store.Tx, l link, now time.Time) (Key, error) {
	k := Key{Name: "browser, by link", Kind: identity.Human, Assurance: identity.Local, Scopes: l.scopes(), CreatedAt: now,
		ExpiresAt: now.Add(linkKeyFor)}
	devices, err := s.devices(ctx, tx, now)
	if err != nil {
		return k, err
	}
	first := len(devices) == 0
	if first && !l.Approved && s.Guarded != nil {
		guarded, err := s.Guarded(ctx, tx)
		if err != nil {
			return k, err
		}
		first = !guarded
	}
	if l.Approved || first {
		k.Name, k.Assurance, k.ExpiresAt = "paired device", identity.Device, now.Add(deviceFor)
	}
	if l.MadeBy != "" {
		p, err := k.beneath(ctx, tx, l.MadeBy, now)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
			return k, errLink
		}
		if err != nil {
			return k, err
		}
		if !p.ExpiresAt.IsZero() && p.ExpiresAt.Before(k.ExpiresAt) {
			k.ExpiresAt = p.ExpiresAt
		}
	}
	k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	return k, nil
}

// renewed returns the key of a device that uses a link itself, as part of a transaction, before its first write. A key
// below another one expires as before.
func renewed(ctx context.Context, tx *store.Tx, id string, l link, now time.Time) (Key, error) {
	k, err := apiKeys.Get(ctx, tx, id)
	if err == nil {
		err = k.valid(now)
	}
	if err != nil {
		return k, err
	}
	if l.Console {
		k.Scopes = consoleScopes
	}
	if len(k.Ancestors) == 0 {
		k.ExpiresAt = now.Add(deviceFor)
		k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	}
	return k, nil
}

// device reports whether the key is that of a paired device, or of a browser that a passkey signed in, and valid.
func (k Key) device(now time.Time) bool {
	return k.assured().Meets(identity.Device) && k.valid(now) == nil
}

// devices returns the paired devices of a user: the valid keys with the assurance device or more. One whose maker was revoked is
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

// Devices returns the paired devices of a user. It reads all keys.
func (s *Service) Devices(ctx context.Context, user string) ([]View, error) {
	return s.devices(ctx, s.DB.User(user), s.Now())
}

// Assurance returns the assurance of a person's key, by its id, or Unauthenticated if the key is not valid any more. A
// person who signs in has no key here, and is as sure as a device.
func (s *Service) Assurance(ctx context.Context, user, id string) (identity.Assurance, error) {
	k, err := apiKeys.Get(ctx, s.DB.User(user), id)
	switch {
	case fault.Is(err, fault.NotFound) && !idPattern.MatchString(id):
		return identity.Device, nil
	case fault.Is(err, fault.NotFound):
		return "", errUnknown
	case err != nil:
		return "", err
	}
	if _, err := s.validUntil(ctx, s.DB.User(user), k); err != nil {
		return "", err
	}
	return k.assured(), nil
}

// idPattern matches the ids of keys, and no name of another way to sign in.
var idPattern = regexp.MustCompile(`^[0-9a-f]+$`)
