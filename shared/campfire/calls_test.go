package campfire

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test come completed, as the calls of their operations do.

func (h *camp) GetOrCreate(ctx context.Context, c identity.Caller, in FireInput) (FireOutput, error) {
	return h.Service.GetOrCreate(ctx, c, op.FillAs("campfire_get_or_create_fire", in))
}

func (h *camp) Post(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return h.Service.Post(ctx, c, op.FillAs("campfire_post_message", in))
}

func (h *camp) Messages(ctx context.Context, c identity.Caller, in MessagesInput) (MessagesOutput, error) {
	return h.Service.Messages(ctx, c, op.FillAs("campfire_list_messages", in))
}

func (h *camp) Throw(ctx context.Context, c identity.Caller, in GauntletInput) (GauntletOutput, error) {
	return h.Service.Throw(ctx, c, op.FillAs("campfire_throw_gauntlet", in))
}

func (h *camp) Speak(ctx context.Context, c identity.Caller, in PostInput) (PostOutput, error) {
	return h.Service.Speak(ctx, c, op.FillAs("campfire_speak_to_party", in))
}

func (h *camp) UpdatePlan(ctx context.Context, c identity.Caller, in PlanInput) (PlanOutput, error) {
	return h.Service.UpdatePlan(ctx, c, op.FillAs("campfire_update_battle_plan", in))
}

func (h *camp) Duels(ctx context.Context, c identity.Caller, in DuelsInput) (DuelsOutput, error) {
	return h.Service.Duels(ctx, c, op.FillAs("campfire_list_duels", in))
}
