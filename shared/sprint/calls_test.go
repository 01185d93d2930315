package sprint

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (y *yard) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	return y.Service.Create(ctx, c, op.FillAs(c, "create_sprint", in))
}

func (y *yard) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return y.Service.List(ctx, c, op.FillAs(c, "list_sprints", in))
}

func (y *yard) Add(ctx context.Context, c identity.Caller, in AddInput) (AddOutput, error) {
	return y.Service.Add(ctx, c, op.FillAs(c, "add_story_to_sprint", in))
}
