package relay

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/task"
)

// A small page must not mean a query for every message that expired before it.
func TestSkippingExpiredMessagesTakesFewCalls(t *testing.T) {
	t.Parallel()
	db, calls := domaintest.CountCalls(t, schema())
	m := over(t, db)
	for range 150 {
		m.send(SendInput{Message: "stale", TTL: 60, Priority: task.High})
	}
	m.send(SendInput{Message: "live"})
	m.Pass(time.Hour)
	// The last one takes the message.
	for _, in := range []GetInput{
		{Limit: 1, MarkAsRead: new(false)}, {Limit: 10, MarkAsRead: new(false)}, {Limit: 1},
	} {
		var got string
		if n := calls.Count(func() { got = m.get(beta, in) }); got != "live" || n > 16 {
			t.Errorf("with the limit %d: %q in %d calls", in.Limit, got, n)
		}
	}
}
