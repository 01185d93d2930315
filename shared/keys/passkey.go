package keys

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// maxByPasskey is the number of valid keys that one passkey has made. A further sign-in revokes the oldest of them, so
// that all valid ones are among the newest.
const maxByPasskey = 20

// Paired reports whether a user has a paired device.
func (s *Service) Paired(ctx context.Context, r store.Reader) (bool, error) {
	devices, err := s.devices(ctx, r, s.Now())
	return len(devices) > 0, err
}

// byPasskey returns the newest keys that a passkey has made, of which more may be valid.
func byPasskey(ctx context.Context, tx *store.Tx, passkey string) ([]store.Doc[Key], error) {
	page, err := apiKeys.Query(ctx, tx, store.Query{Where: []store.Cond{store.Eq("passkeyId", passkey)},
		Order: []string{"createdAt desc"}, Limit: maxByPasskey})
	return page.Docs, err
}

// ByPasskey makes the key of a browser that a passkey signed in, as part of a transaction: for the console, and valid as
// long as that of a paired device. It reads, and returns the writes; done must be called after the commit.
func (s *Service) ByPasskey(
	ctx context.Context, tx *store.Tx, user, passkey, name string,
) (made CreateOutput, write, done func(), err error) {
	now := s.Now()
	docs, err := byPasskey(ctx, tx, passkey)
	if err != nil {
		return made, nil, nil, err
	}
	secret, id := mint(keyPrefix, user)
	k := Key{Name: "browser, by passkey " + name, Kind: identity.Human, Assurance: identity.Passkey, Scopes: consoleScopes,
		CreatedAt: now, ExpiresAt: now.Add(deviceFor), PasskeyID: passkey}
	k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	var over []store.Doc[Key]
	if len(docs) == maxByPasskey {
		over = docs[maxByPasskey-1:]
	}
	write = func() {
		apiKeys.Create(tx, id, k)
		s.end(tx, over)
	}
	return CreateOutput{Key: secret, View: view(id, k)}, write, func() { s.ended(user, over) }, nil
}

// EndPasskey revokes the keys that a passkey made, as part of a transaction, and all keys that those made. It reads, and
// returns the writes; done must be called after the commit.
func (s *Service) EndPasskey(
	ctx context.Context, tx *store.Tx, user, passkey string,
) (write func(), done func(context.Context) error, err error) {
	docs, err := byPasskey(ctx, tx, passkey)
	if err != nil {
		return nil, nil, err
	}
	return func() { s.end(tx, docs) }, func(ctx context.Context) error {
		s.ended(user, docs)
		for _, d := range docs {
			if err := s.revokeDescendants(ctx, user, d.ID, s.Now()); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// end revokes keys in a transaction.
func (s *Service) end(tx *store.Tx, docs []store.Doc[Key]) {
	now := s.Now()
	for _, d := range docs {
		if d.Value.RevokedAt.IsZero() {
			apiKeys.Patch(tx, d.ID, store.Set("revokedAt", now), store.Set("purgeAt", now.Add(keptRevoked)))
		}
	}
}

// ended tells caches that keys were revoked, or made.
func (s *Service) ended(user string, docs []store.Doc[Key]) {
	for _, d := range docs {
		if s.Revoked != nil {
			s.Revoked(d.ID)
		}
	}
	s.changed(user)
}
