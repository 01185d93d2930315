package keys

import (
	"context"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// MemberProgram returns the program that the key of a team's member is bound to: the names of the team and the member,
// joined by a dot.
func MemberProgram(team, member string) string {
	name := team + "." + member
	if !identity.ValidName(name) {
		name = "team." + strings.TrimLeft(name, "_-.")
	}
	return name
}

// IssueMember creates the key of a team's member as part of a transaction, before its first write: a child of the
// founder's key, which is bound to a program of the member's own and belongs to the member in its team. A program of that
// name that has a key of another origin is Precondition. Once the transaction is committed, [Service.Committed] must be
// called.
func (s *Service) IssueMember(
	ctx context.Context, tx *store.Tx, user, founder, team, member string,
) (secret, id string, err error) {
	now := s.Now()
	k := Key{Name: "member " + member + " of team " + team, Kind: identity.Agent, Program: MemberProgram(team, member),
		Team: team, Member: member, CreatedAt: now}
	if err := s.free(ctx, tx, k, now); err != nil {
		return "", "", err
	}
	if err := s.adopt(ctx, tx, &k, founder); err != nil {
		return "", "", err
	}
	if !k.ExpiresAt.IsZero() {
		k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	}
	secret, id = mint(keyPrefix, user)
	apiKeys.Create(tx, id, k)
	return secret, id, nil
}

// free returns Precondition if the program of a member's key has a valid key that was not made for the member. It reads
// the newest 200 keys.
func (s *Service) free(ctx context.Context, r store.Reader, k Key, now time.Time) error {
	page, err := apiKeys.Query(ctx, r, store.Query{Order: []string{"createdAt desc"}, Limit: maxKnown})
	if err != nil {
		return err
	}
	for _, d := range page.Docs {
		other := d.Value
		if identity.Same(other.Program, k.Program) && other.valid(now) == nil &&
			(other.Team != k.Team || other.Member != k.Member) {
			return fault.New(fault.Precondition, "the program %q has a key of its own; give the member another name", k.Program)
		}
	}
	return nil
}

// adopt makes a member's key a child of the founder's key, if that is stored.
func (s *Service) adopt(ctx context.Context, r store.Reader, k *Key, founder string) error {
	if founder == "" {
		return nil
	}
	p, err := apiKeys.Get(ctx, r, founder)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.valid(s.Now()); err != nil {
		return fault.New(fault.Precondition, "the key that founded the team %q was revoked or has expired", k.Team)
	}
	k.Ancestors = append(slices.Clone(p.Ancestors), founder)
	k.ExpiresAt = p.ExpiresAt
	k.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), func(s string) bool { return s == identity.ScopeAdmin })
	return nil
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

// Committed drops what caches hold of a user's keys after a transaction that issued or revoked some. The ids are those
// of the revoked keys.
func (s *Service) Committed(user string, revoked ...string) {
	s.changed(user)
	if s.Revoked == nil {
		return
	}
	for _, id := range revoked {
		s.Revoked(id)
	}
}
