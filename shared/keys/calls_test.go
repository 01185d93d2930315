package keys

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (r *fixture) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	return r.Service.Create(ctx, c, op.FillAs(c, "create_key", in))
}

func (r *fixture) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return r.Service.List(ctx, c, op.FillAs(c, "list_keys", in))
}
