package relay

import (
	"context"
	"sync/atomic"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
)

// hooked is a driver that counts its calls, those in transactions and commits
// too, and tells when a query over all users has been answered.
type hooked struct {
	store.Driver
	calls atomic.Int64
	then  func()
}

func (d *hooked) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	d.calls.Add(1)
	return d.Driver.Get(ctx, refs)
}

func (d *hooked) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.calls.Add(1)
	raws, err := d.Driver.Query(ctx, p)
	if p.User == "" && d.then != nil {
		d.then()
	}
	return raws, err
}

func (d *hooked) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	return d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		writes, err := fn(ctx, &inside{r, d})
		if err == nil && len(writes) > 0 {
			d.calls.Add(1)
		}
		return writes, err
	})
}

// inside counts the reads of a transaction.
type inside struct {
	store.Reads
	d *hooked
}

func (r *inside) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	r.d.calls.Add(1)
	return r.Reads.Get(ctx, refs)
}

func (r *inside) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	r.d.calls.Add(1)
	return r.Reads.Query(ctx, p)
}

// eachHooked is each, on drivers with hooks, and no attempt comes to nothing.
func eachHooked(t *testing.T, test func(*testing.T, *mail, *hooked)) {
	t.Helper()
	hook := func(inner store.Driver) *hooked { return &hooked{Driver: inner} }
	domaintest.EachOver(t, schema(), hook, func(t *testing.T, db *store.DB, d *hooked) { test(t, over(t, db), d) })
}
