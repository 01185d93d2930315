package dispatch

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
)

// counted is a driver that counts the queries outside of transactions.
type counted struct {
	store.Driver
	queries atomic.Int64
}

func (d *counted) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.queries.Add(1)
	return d.Driver.Query(ctx, p)
}

// A small page must not mean a query for every task that nobody swept yet.
func TestPassingOverExpiredTasksTakesFewQueries(t *testing.T) {
	t.Parallel()
	schema := store.NewSchema(append(Defs(), once.Def())...)
	inner, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	d := &counted{Driver: inner}
	db := store.New(d, schema)
	defer func() { _ = db.Close() }()
	q := &queue{t: t, now: t0, looks: make(chan struct{}, 1)}
	q.Service = &Service{DB: db, Now: q.clock, NewID: q.id}
	for range 150 {
		q.create(alpha, CreateInput{Title: "stale", Target: "beta", Priority: task.High, TTL: 60})
	}
	q.create(alpha, CreateInput{Title: "live", Target: "beta"})
	q.pass(time.Hour)
	d.queries.Store(0)
	if got := q.list(beta, ListInput{Target: "beta", Limit: 1}); got != "live" {
		t.Errorf("listed %q", got)
	}
	if n := d.queries.Load(); n > 10 {
		t.Errorf("one listing took %d queries", n)
	}
}
