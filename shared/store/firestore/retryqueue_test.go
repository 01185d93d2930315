package firestore

import (
	"context"
	"sync"
	"testing"
)

func TestAbortedTransactionsOfAUserTakeTurns(t *testing.T) {
	t.Parallel()
	q := newRetryQueues()
	var all sync.WaitGroup
	inside, most := 0, 0
	var mu sync.Mutex
	for range 20 {
		all.Go(func() {
			leave := q.wait(t.Context(), "u")
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			leave()
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d went on at once", most)
	}
}

func TestACancelledCallDoesNotWaitForItsTurn(t *testing.T) {
	t.Parallel()
	q := newRetryQueues()
	leave := q.wait(t.Context(), "u")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q.wait(ctx, "u")()
	leave()
	q.wait(t.Context(), "u")() // the queue is free
}
