package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// MemberProgram returns the program that the key of a team's member is bound to: the names of the team and the member,
// joined by a dot, or a hash of them where that is no name of a program.
func MemberProgram(team, member string) string {
	name := team + "." + member
	if identity.ValidName(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "team." + hex.EncodeToString(sum[:16])
}

// IssueMember creates the key of a team's member as part of a transaction, before its first write: a child of the key with
// the id parent, bound to a program of the member's own, with the parent's scopes but admin and runner. A parent that is
// empty or not stored is that of nobody. A program of that name that has a key of another origin, and a parent that was
// revoked or has expired, are Precondition. Once the transaction is committed, [Service.Committed] must be called.
func (s *Service) IssueMember(
	ctx context.Context, tx *store.Tx, user, parent, team, member string,
) (secret, id string, err error) {
	now := s.Now()
	k := Key{Name: "member " + member + " of team " + team, Kind: identity.Agent, Program: MemberProgram(team, member),
		Team: team, Member: member, CreatedAt: now}
	if err := s.free(ctx, tx, k, now); err != nil {
		return "", "", err
	}
	if parent != "" {
		p, err := k.beneath(ctx, tx, parent, now)
		switch {
		case fault.Is(err, fault.Unauthenticated):
			return "", "", fault.New(fault.Precondition, "the key of the founder of the team %q was revoked or has expired", team)
		case err != nil && !fault.Is(err, fault.NotFound):
			return "", "", err
		}
		k.ExpiresAt, k.Scopes = p.ExpiresAt, without(p.Scopes, identity.ScopeAdmin, identity.ScopeRunner)
	}
	if !k.ExpiresAt.IsZero() {
		k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	}
	secret, id = mint(keyPrefix, user)
	apiKeys.Create(tx, id, k)
	return secret, id, nil
}

// free returns Precondition if the program of a member's key has a valid key that was not made for the member.
func (s *Service) free(ctx context.Context, r store.Reader, k Key, now time.Time) error {
	return allKeys(ctx, r, func(_ string, other Key) error {
		if identity.Same(other.Program, k.Program) && other.valid(now) == nil &&
			(other.Team != k.Team || other.Member != k.Member) {
			return fault.New(fault.Precondition, "the program %q has a key of its own; give the member another name", k.Program)
		}
		return nil
	})
}

// RevokeIn revokes a key as part of a transaction, before its first write. It does nothing if there is no such key. Once
// the transaction is committed, [Service.Committed] must be called.
func (s *Service) RevokeIn(ctx context.Context, tx *store.Tx, id string) (write func(), err error) {
	k, err := apiKeys.Get(ctx, tx, id)
	if fault.Is(err, fault.NotFound) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	now := s.Now()
	return func() {
		if k.RevokedAt.IsZero() {
			k.RevokedAt, k.PurgeAt = now, now.Add(keptRevoked)
			apiKeys.Put(tx, id, k)
		}
	}, nil
}

// Committed drops the cached copies of a user's keys after a transaction that issued or revoked some, and records the
// end of the keys below the revoked ones, which are not valid any more in any case. The ids are those of the revoked
// keys.
func (s *Service) Committed(ctx context.Context, user string, revoked ...string) {
	for _, id := range revoked {
		if s.Revoked != nil {
			s.Revoked(id)
		}
		_ = s.revokeDescendants(ctx, user, id, s.Now())
	}
	s.changed(user)
}
