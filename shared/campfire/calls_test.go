package campfire

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test have their defaults applied, as the catalogue does for operations.

func (h *fixture) GetOrCreate(ctx context.Context, c identity.Caller, in FireInput) (FireOutput, error) {
	return h.Service.GetOrCreate(ctx, c, op.FillAs(c, "campfire_get_or_create_fire", in))
}

func (h *fixture) Post(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return h.Service.Post(ctx, c, op.FillAs(c, "campfire_post_message", in))
}

func (h *fixture) Messages(ctx context.Context, c identity.Caller, in MessagesInput) (MessagesOutput, error) {
	return h.Service.Messages(ctx, c, op.FillAs(c, "campfire_list_messages", in))
}

func (h *fixture) Throw(ctx context.Context, c identity.Caller, in GauntletInput) (GauntletOutput, error) {
	return h.Service.Throw(ctx, c, op.FillAs(c, "campfire_throw_gauntlet", in))
}

func (h *fixture) Speak(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return h.Service.Speak(ctx, c, op.FillAs(c, "campfire_speak_to_party", in))
}

func (h *fixture) UpdatePlan(ctx context.Context, c identity.Caller, in PlanInput) (PlanOutput, error) {
	return h.Service.UpdatePlan(ctx, c, op.FillAs(c, "campfire_update_battle_plan", in))
}

func (h *fixture) Duels(ctx context.Context, c identity.Caller, in DuelsInput) (DuelsOutput, error) {
	return h.Service.Duels(ctx, c, op.FillAs(c, "campfire_list_duels", in))
}
