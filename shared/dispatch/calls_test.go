package dispatch

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (q *queue) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	return q.Service.List(ctx, c, op.FillAs(c, "get_tasks", in))
}

func (q *queue) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	return q.Service.Create(ctx, c, op.FillAs(c, "create_task", in))
}

func (q *queue) Claim(ctx context.Context, c identity.Caller, in ClaimInput) (ClaimOutput, error) {
	return q.Service.Claim(ctx, c, op.FillAs(c, "claim_task", in))
}

func (q *queue) Renew(ctx context.Context, c identity.Caller, in RenewInput) (RenewOutput, error) {
	return q.Service.Renew(ctx, c, op.FillAs(c, "renew_claim", in))
}

func (q *queue) Complete(ctx context.Context, c identity.Caller, in CompleteInput) (CompleteOutput, error) {
	return q.Service.Complete(ctx, c, op.FillAs(c, "complete_task", in))
}

func (q *queue) ClaimNext(ctx context.Context, c identity.Caller, in NextInput) (NextOutput, error) {
	return q.Service.ClaimNext(ctx, c, op.FillAs(c, "claim_next_task", in))
}
