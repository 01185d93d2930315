package council

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test have their defaults applied, as the catalogue does for operations.

func (h *fixture) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	return h.Service.Start(ctx, c, op.FillAs(c, "start_council", in))
}

func (h *fixture) Get(ctx context.Context, c identity.Caller, in GetInput) (ViewOutput, error) {
	return h.Service.Get(ctx, c, op.FillAs(c, "get_current_session_data", in))
}

func (h *fixture) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	return h.Service.Send(ctx, c, op.FillAs(c, "send_response", in))
}

func (h *fixture) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return h.Service.List(ctx, c, op.FillAs(c, "list_councils", in))
}
