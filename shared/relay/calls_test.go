package relay

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test come completed, as the calls of their operations do.

func (m *mail) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	return m.Service.Send(ctx, c, op.FillAs(c, "send_message", in))
}

func (m *mail) Get(ctx context.Context, c identity.Caller, in GetInput) (GetOutput, error) {
	return m.Service.Get(ctx, c, op.FillAs(c, "get_messages", in))
}

func (m *mail) DeadLetters(ctx context.Context, c identity.Caller, in DeadInput) (DeadOutput, error) {
	return m.Service.DeadLetters(ctx, c, op.FillAs(c, "get_dead_letters", in))
}

func (m *mail) ListGroups(ctx context.Context, c identity.Caller, in ListGroupsInput) (ListGroupsOutput, error) {
	return m.Service.ListGroups(ctx, c, op.FillAs(c, "list_groups", in))
}
