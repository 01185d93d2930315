package signal

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (d *fixture) Ask(ctx context.Context, c identity.Caller, in AskInput) (AskOutput, error) {
	return d.Service.Ask(ctx, c, op.FillAs(c, "ask_question", in))
}

func (d *fixture) Response(ctx context.Context, c identity.Caller, in ResponseInput) (Answer, error) {
	return d.Service.Response(ctx, c, op.FillAs(c, "get_response", in))
}

func (d *fixture) Alert(ctx context.Context, c identity.Caller, in AlertInput) (AlertOutput, error) {
	return d.Service.Alert(ctx, c, op.FillAs(c, "send_alert", in))
}

func (d *fixture) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return d.Service.List(ctx, c, op.FillAs(c, "list_questions", in))
}

func (d *fixture) Register(ctx context.Context, c identity.Caller, in DeviceInput) (DeviceView, error) {
	return d.Service.Register(ctx, c, op.FillAs(c, "register_device", in))
}

func (d *fixture) Devices(ctx context.Context, c identity.Caller, in DevicesInput) (DevicesOutput, error) {
	return d.Service.Devices(ctx, c, op.FillAs(c, "list_devices", in))
}
