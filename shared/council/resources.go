package council

import (
	"cmp"
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Resources returns the councils as MCP resources. Reading a council does not join it.
func (s *Service) Resources() []op.Resource {
	return []op.Resource{{
		Scheme: "parley://councils/", Name: "council", Title: "Council", Toolset: "council",
		Doc:  "A council: its request, the first responses, who takes part and its conclusion.",
		List: s.listing, Read: s.document,
	}}
}

func (s *Service) listing(ctx context.Context, c identity.Caller, after string, limit int) (op.Listing, error) {
	found, err := s.List(ctx, c, ListInput{Cursor: after, Limit: limit})
	out := op.Listing{Items: []op.Item{}, Next: found.NextCursor}
	for _, v := range found.Sessions {
		out.Items = append(out.Items, op.Item{ID: v.ID, Title: cmp.Or(v.Title, v.ID)})
	}
	return out, err
}

func (s *Service) document(ctx context.Context, c identity.Caller, id string) (any, error) {
	if id == "" {
		return nil, errMissing(id)
	}
	l, err := lookAt(ctx, s.DB.User(c.User), speaker{name: c.Program, owner: c.Owner(), caller: c}, id, cursor{}, s.Now())
	if err != nil {
		return nil, err
	}
	return l.view(), nil
}
