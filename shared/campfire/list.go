package campfire

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// ListInput is the input of campfire_list_fires.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=50"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ListOutput is the output of campfire_list_fires.
type ListOutput struct {
	Fires      []Listed `json:"fires"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

// Listed is a fire in a list.
type Listed struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	State     State     `json:"state"`
	Plan      int64     `json:"plan" jsonschema:"the newest version of its plan, 0 before the first"`
	Messages  int64     `json:"messages" jsonschema:"how many there are"`
	Duels     int64     `json:"duels" jsonschema:"how many there were, the standing one among them"`
}

// List returns the fires of a user, the newest first.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Fires: []Listed{}}
	page, err := fires.Query(ctx, s.DB.User(c.User), store.Query{Order: []string{"createdAt desc"}, Limit: in.Limit, Cursor: in.Cursor})
	for _, d := range page.Docs {
		f := d.Value
		f.Lapse(s.Now())
		out.Fires = append(out.Fires, Listed{ID: f.ID, CreatedAt: f.CreatedAt, State: f.State(), Plan: f.Plan, Messages: f.Messages,
			Duels: f.Duels})
	}
	out.NextCursor = page.Next
	return out, err
}
