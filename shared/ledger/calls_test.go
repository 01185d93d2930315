package ledger

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// The calls of a test come completed, as the calls of their operations do.

func (b *book) Usage(ctx context.Context, c identity.Caller, in UsageInput) (UsageOutput, error) {
	return b.Service.Usage(ctx, c, op.FillAs("get_usage", in))
}
