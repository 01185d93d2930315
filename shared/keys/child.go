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

// maxDepth is the largest number of ancestors of a key.
const maxDepth = 10

// parent returns the id of the key that made this one, empty for none.
func (k Key) parent() string {
	if len(k.Ancestors) == 0 {
		return ""
	}
	return k.Ancestors[len(k.Ancestors)-1]
}

// beneath reads the key with the id parent and puts a new key below it. It returns NotFound if no such key is stored,
// Unauthenticated if that key was revoked or has expired, and Precondition if it has as many ancestors as one may have.
func (k *Key) beneath(ctx context.Context, r store.Reader, parent string, now time.Time) (Key, error) {
	p, err := apiKeys.Get(ctx, r, parent)
	if err != nil {
		return p, err
	}
	if err := p.valid(now); err != nil {
		return p, err
	}
	if len(p.Ancestors) >= maxDepth {
		return p, fault.New(fault.Precondition, "this key has %d keys above it, which is as many as one may have", maxDepth)
	}
	k.Ancestors = append(slices.Clone(p.Ancestors), parent)
	return p, nil
}

// descend makes a new key a child of the caller's key. It does nothing for a human without a stored key: a person who
// signed in, or the operator.
func (s *Service) descend(ctx context.Context, tx *store.Tx, k *Key, c identity.Caller) error {
	if c.KeyID == "" && c.IsHuman() {
		return nil
	}
	p, err := k.beneath(ctx, tx, c.KeyID, s.Now())
	if fault.Is(err, fault.NotFound) {
		if c.IsHuman() {
			return nil
		}
		return errUnknown
	}
	if err != nil {
		return err
	}
	k.Member = p.Member
	return k.narrow(p)
}

// narrow bounds a key by its parent: fields that were left out become the parent's, and rights that the parent does not
// have are Forbidden.
func (k *Key) narrow(p Key) error {
	switch {
	case p.Program == "":
	case k.Kind == identity.Human:
		return fault.New(fault.Forbidden, "a key bound to %q cannot make a key of the kind human", p.Program)
	case k.Program == "":
		k.Program = p.Program
	case !identity.Same(k.Program, p.Program):
		return fault.New(fault.Forbidden, "this key speaks for %q and cannot make a key for %q", p.Program, k.Program)
	default:
		k.Program = p.Program // the first spelling stands
	}
	switch {
	case p.ExpiresAt.IsZero():
	case k.ExpiresAt.IsZero():
		k.ExpiresAt = p.ExpiresAt
	case k.ExpiresAt.After(p.ExpiresAt):
		return fault.New(fault.Forbidden, "this key expires at %s, and a key that it makes expires no later",
			p.ExpiresAt.Format("2006-01-02T15:04:05Z07:00"))
	}
	switch {
	case p.Team == "":
	case k.Team == "":
		k.Team = p.Team
	case k.Team != p.Team:
		return fault.New(fault.Forbidden, "this key serves the team %q and cannot make a key for the team %q", p.Team, k.Team)
	}
	if len(k.Scopes) == 0 {
		k.Scopes = without(p.Scopes, identity.ScopeAdmin)
		return nil
	}
	if extra := beyond(k.Scopes, p); len(extra) > 0 {
		return fault.New(fault.Forbidden, "this key does not have the scope %s, so it cannot give it; its scopes are %s",
			strings.Join(extra, ", "), strings.Join(p.Scopes, ", "))
	}
	return nil
}

// spelled returns the name of a program as the oldest valid key of the user for it has it, and as it is if there is none:
// names are compared without case, so the keys of a program are to give one spelling.
func (s *Service) spelled(ctx context.Context, user, program string) (string, error) {
	now, out := s.Now(), program
	err := allKeys(ctx, s.DB.User(user), func(_ string, k Key) error { // the newest first
		if identity.Same(k.Program, program) && k.valid(now) == nil {
			out = k.Program
		}
		return nil
	})
	return out, err
}

// without returns the scopes but some.
func without(scopes []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(some, s) })
}

// beyond returns the part of a child's scopes that its parent does not have. A child that names no toolset reaches all of
// them, so the toolsets of its parent are missing then. The scopes admin and runner give rights that an agent's key
// without scopes does not have.
func beyond(scopes []string, p Key) []string {
	var extra []string
	parent := identity.Caller{Scopes: p.Scopes}
	child := identity.Caller{Scopes: scopes}
	for _, s := range scopes {
		has := parent.InToolset(s)
		switch s {
		case identity.ScopeRead:
			has = true
		case identity.ScopeWrite:
			has = parent.CanWrite()
		case identity.ScopeAdmin:
			has = p.Kind == identity.Human || parent.IsAdmin()
		case identity.ScopeRunner:
			has = has && (p.Kind == identity.Human || slices.Contains(p.Scopes, s))
		}
		if !has {
			extra = append(extra, s)
		}
	}
	if len(extra) == 0 && child.InToolset("") && !parent.InToolset("") {
		extra = append(extra, "to every toolset")
	}
	if len(extra) == 0 && child.CanWrite() && !parent.CanWrite() {
		extra = append(extra, identity.ScopeWrite)
	}
	return extra
}
