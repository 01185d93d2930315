package ledger

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Usage applies the defaults of the schema first, as the operation does.

func (b *book) Usage(ctx context.Context, c identity.Caller, in UsageInput) (UsageOutput, error) {
	return b.Service.Usage(ctx, c, op.FillAs(c, "get_usage", in))
}
