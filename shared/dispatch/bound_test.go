package dispatch

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/task"
)

// A small page must not cause a query for every expired task that is not swept yet.
func TestPassingOverExpiredTasksNeedsFewQueries(t *testing.T) {
	t.Parallel()
	db, calls := domaintest.CountCalls(t, schema())
	q := over(t, db)
	for range 150 {
		q.create(alpha, CreateInput{Title: "stale", Target: "beta", Priority: task.High, TTL: 60})
	}
	q.create(alpha, CreateInput{Title: "live", Target: "beta"})
	q.Pass(time.Hour)
	n := calls.Count(func() {
		if got := q.list(beta, ListInput{Target: "beta", Limit: 1}); got != "live" {
			t.Errorf("listed %q", got)
		}
	})
	if n > 10 {
		t.Errorf("one listing took %d queries", n)
	}
}
