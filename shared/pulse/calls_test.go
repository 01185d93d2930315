package pulse

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (w *world) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	return w.Service.Create(ctx, c, op.FillAs(c, "create_session", in))
}

func (w *world) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return w.Service.List(ctx, c, op.FillAs(c, "list_sessions", in))
}
