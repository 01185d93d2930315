package relay

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// counted is a driver that counts the queries and transactions that it serves.
type counted struct {
	store.Driver
	calls atomic.Int64
}

func (d *counted) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.calls.Add(1)
	return d.Driver.Query(ctx, p)
}

func (d *counted) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	d.calls.Add(1)
	return d.Driver.Update(ctx, fn)
}

// A small page must not mean a query for every message that expired before it.
func TestSkippingExpiredMessagesTakesFewCalls(t *testing.T) {
	t.Parallel()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *counted { return &counted{Driver: inner} })
	m := over(t, db)
	for range 150 {
		m.send(SendInput{Message: "stale", TTL: 60, Priority: task.High})
	}
	m.send(SendInput{Message: "live"})
	m.Pass(time.Hour)
	for name, in := range map[string]GetInput{
		"peek":        {Limit: 1, MarkAsRead: new(false)},
		"peek at ten": {Limit: 10, MarkAsRead: new(false)},
	} {
		d.calls.Store(0)
		if got := m.get(beta, in); got != "live" || d.calls.Load() > 16 {
			t.Errorf("%s: %q in %d calls", name, got, d.calls.Load())
		}
	}
	d.calls.Store(0)
	if got := m.get(beta, GetInput{Limit: 1}); got != "live" || d.calls.Load() > 16 {
		t.Errorf("read: %q in %d calls", got, d.calls.Load())
	}
}
