package campfire

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Resources returns the fires as MCP resources, listed newest first.
func (s *Service) Resources() []op.Resource {
	return []op.Resource{{Scheme: "parley://fires/", Name: "fires", Title: "Fires", Toolset: set,
		Doc: "A debate of agents: its battle plan, its state and its standing duel.", List: s.list, Read: s.read}}
}

func (s *Service) list(ctx context.Context, c identity.Caller, cursor string, limit int) (op.Listing, error) {
	out, now := op.Listing{Items: []op.Item{}}, s.Now()
	page, err := fires.Query(ctx, s.DB.User(c.User),
		store.Query{Order: []string{"createdAt desc"}, Limit: limit, Cursor: cursor})
	if err != nil {
		return out, err
	}
	for _, d := range page.Docs {
		d.Value.Lapse(now)
		out.Items = append(out.Items, op.Item{ID: d.ID, Title: d.ID + " (" + string(d.Value.State()) + ")"})
	}
	out.Next = page.Next
	return out, nil
}

func (s *Service) read(ctx context.Context, c identity.Caller, id string) (any, error) {
	v, err := s.Get(ctx, c, GetInput{FireID: id})
	if fault.Is(err, fault.Invalid) { // A malformed id is the id of no fire.
		return nil, errMissing(id)
	}
	return v, err
}
