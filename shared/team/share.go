package team

import (
	"context"
	"slices"
	"strings"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// maxShared is the number of teams among which those of two programs are looked for.
const maxShared = 100

// Share reports whether two programs are in one team: as its lead and a member, or as two members.
func (s *Service) Share(ctx context.Context, user, a, b string) (bool, error) {
	page, err := teams.Query(ctx, s.DB.User(user), store.Query{Limit: maxShared})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(page.Docs, func(d store.Doc[document]) bool {
		return d.Value.has(a) && d.Value.has(b)
	}), nil
}

// has reports whether a program leads the team or is a member of it.
func (d *document) has(program string) bool {
	if owner, bound := strings.CutPrefix(d.Owner, "program:"); bound && identity.Same(owner, program) {
		return true
	}
	m := d.Member(program)
	return m != nil && m.Name != Lead
}
