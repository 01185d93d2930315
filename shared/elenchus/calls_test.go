package elenchus

import (
	"context"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test have their defaults applied, as the catalogue does for operations.

func (h *fixture) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	return h.Service.Start(ctx, c, op.FillAs(c, "elenchus_start_session", in))
}

func (h *fixture) SubmitRound(ctx context.Context, c identity.Caller, in RoundInput) (RoundOutput, error) {
	return h.Service.SubmitRound(ctx, c, op.FillAs(c, "elenchus_submit_round", in))
}

func (h *fixture) AddFiles(ctx context.Context, c identity.Caller, in AddInput) (AddOutput, error) {
	return h.Service.AddFiles(ctx, c, op.FillAs(c, "elenchus_add_files", in))
}

func (h *fixture) GetContext(ctx context.Context, c identity.Caller, in ContextInput) (ContextOutput, error) {
	return h.Service.GetContext(ctx, c, op.FillAs(c, "elenchus_get_context", in))
}

func (h *fixture) GetIssues(ctx context.Context, c identity.Caller, in IssuesInput) (IssuesOutput, error) {
	return h.Service.GetIssues(ctx, c, op.FillAs(c, "elenchus_get_issues", in))
}

// outputs reads the outputs of a verification from a cursor on.
func (h *fixture) outputs(who identity.Caller, in ContextInput) ContextOutput {
	h.t.Helper()
	return domaintest.Must(h.GetContext(h.t.Context(), who, op.FillAs(who, "elenchus_get_context", in)))(h.t)
}

func (h *fixture) Checkpoint(ctx context.Context, c identity.Caller, in CheckpointInput) (CheckpointOutput, error) {
	return h.Service.Checkpoint(ctx, c, op.FillAs(c, "elenchus_checkpoint", in))
}

func (h *fixture) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return h.Service.List(ctx, c, op.FillAs(c, "elenchus_list_sessions", in))
}
