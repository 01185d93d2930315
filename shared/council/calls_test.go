package council

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test come completed, as the calls of their operations do.

func (h *hall) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	return h.Service.Start(ctx, c, op.FillAs("start_council", in))
}

func (h *hall) Get(ctx context.Context, c identity.Caller, in GetInput) (ViewOutput, error) {
	return h.Service.Get(ctx, c, op.FillAs("get_current_session_data", in))
}

func (h *hall) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	return h.Service.Send(ctx, c, op.FillAs("send_response", in))
}

func (h *hall) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return h.Service.List(ctx, c, op.FillAs("list_councils", in))
}
