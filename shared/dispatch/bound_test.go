package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// counted is a driver that counts queries outside of transactions.
type counted struct {
	store.Driver
	queries atomic.Int64
}

func (d *counted) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.queries.Add(1)
	return d.Driver.Query(ctx, p)
}

// A small page must not cause a query for every expired task that is not swept yet.
func TestPassingOverExpiredTasksNeedsFewQueries(t *testing.T) {
	t.Parallel()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *counted { return &counted{Driver: inner} })
	q := over(t, db)
	for range 150 {
		q.create(alpha, CreateInput{Title: "stale", Target: "beta", Priority: task.High, TTL: 60})
	}
	q.create(alpha, CreateInput{Title: "live", Target: "beta"})
	q.Pass(time.Hour)
	d.queries.Store(0)
	if got := q.list(beta, ListInput{Target: "beta", Limit: 1}); got != "live" {
		t.Errorf("listed %q", got)
	}
	if n := d.queries.Load(); n > 10 {
		t.Errorf("one listing took %d queries", n)
	}
}
