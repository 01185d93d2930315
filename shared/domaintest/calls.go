package domaintest

import (
	"context"
	"sync/atomic"
	"testing"

	"parley.internal/shared/store"
)

// Calls counts the queries and transactions that the driver of a store serves. A query within a transaction is a part
// of it and is not counted.
type Calls struct {
	store.Driver
	served atomic.Int64
}

// CountCalls opens an empty SQLite store and returns it with a counter of its calls.
func CountCalls(t *testing.T, schema *store.Schema) (*store.DB, *Calls) {
	t.Helper()
	return SQLiteOver(t, schema, func(inner store.Driver) *Calls { return &Calls{Driver: inner} })
}

// Count makes a call and returns the number of queries and transactions that were served meanwhile.
func (c *Calls) Count(call func()) int {
	before := c.served.Load()
	call()
	return int(c.served.Load() - before)
}

// Query implements store.Driver.
func (c *Calls) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	c.served.Add(1)
	return c.Driver.Query(ctx, p)
}

// Update implements store.Driver.
func (c *Calls) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	c.served.Add(1)
	return c.Driver.Update(ctx, fn)
}
