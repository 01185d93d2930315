package keys

import (
	"context"
	"slices"
	"strings"

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

// descend makes a new key a child of the key with the id parent. It does nothing if parent is empty or no stored key.
func (s *Service) descend(ctx context.Context, tx *store.Tx, k *Key, parent string) error {
	if parent == "" {
		return nil
	}
	p, err := apiKeys.Get(ctx, tx, parent)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.valid(s.Now()); err != nil {
		return err
	}
	if len(p.Ancestors) >= maxDepth {
		return fault.New(fault.Precondition, "this key has %d keys above it, which is as many as one may have", maxDepth)
	}
	k.Ancestors = append(slices.Clone(p.Ancestors), parent)
	if p.Member != "" {
		k.Member = p.Member
	}
	return k.narrow(p)
}

// narrow makes a key no more than its parent: what was left out becomes the parent's, and what the parent does not have
// is Forbidden.
func (k *Key) narrow(p Key) error {
	switch {
	case p.Program == "":
	case k.Kind == identity.Human:
		return fault.New(fault.Forbidden, "a key bound to %q cannot make a key of the kind human", p.Program)
	case k.Program == "":
		k.Program = p.Program
	case !identity.Same(k.Program, p.Program):
		return fault.New(fault.Forbidden, "this key speaks for %q and cannot make a key for %q", p.Program, k.Program)
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
		k.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), func(s string) bool { return s == identity.ScopeAdmin })
		return nil
	}
	if extra := beyond(k.Scopes, p); len(extra) > 0 {
		return fault.New(fault.Forbidden, "this key does not have the scope %s, so it cannot give it; its scopes are %s",
			strings.Join(extra, ", "), strings.Join(p.Scopes, ", "))
	}
	return nil
}

// beyond returns the part of a child's scopes that its parent does not have. A child that names no toolset reaches all of
// them, so the toolsets of its parent are missing then.
func beyond(scopes []string, p Key) []string {
	var extra []string
	parent := identity.Caller{Scopes: p.Scopes}
	child := identity.Caller{Scopes: scopes}
	for _, s := range scopes {
		switch s {
		case identity.ScopeRead:
		case identity.ScopeWrite:
			if !parent.CanWrite() {
				extra = append(extra, s)
			}
		case identity.ScopeAdmin:
			if p.Kind != identity.Human && !parent.IsAdmin() {
				extra = append(extra, s)
			}
		default:
			if !parent.InToolset(s) {
				extra = append(extra, s)
			}
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
