package team

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// ListInput is the input of team_list.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=50"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ListOutput is the output of team_list.
type ListOutput struct {
	Teams      []Listed `json:"teams"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

// Listed is a team in a list.
type Listed struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	CreatedAt   int64  `json:"createdAt" jsonschema:"milliseconds since 1970"`
	Owner       string `json:"owner" jsonschema:"who leads it"`
	Members     int    `json:"members" jsonschema:"the lead among them"`
}

// List returns the teams of a user, by their names.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Teams: []Listed{}}
	page, err := teams.Query(ctx, s.DB.User(c.User), store.Query{Order: []string{"name"}, Limit: in.Limit, Cursor: in.Cursor})
	for _, d := range page.Docs {
		t := d.Value
		out.Teams = append(out.Teams, Listed{Name: t.Name, Description: t.Description, CreatedAt: t.CreatedAt, Owner: t.Owner,
			Members: len(t.Members)})
	}
	out.NextCursor = page.Next
	return out, err
}
