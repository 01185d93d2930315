package firestore

import (
	"context"
	"sync"
	"testing"
)

func TestThoseOfAUserThatWereAbortedTakeTurns(t *testing.T) {
	t.Parallel()
	l := newLanes()
	var all sync.WaitGroup
	inside, most := 0, 0
	var mu sync.Mutex
	for range 20 {
		all.Go(func() {
			leave := l.enter(t.Context(), "u")
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

// Whose call has ended waits for nobody, and takes nobody's turn.
func TestACallThatEndedWaitsForNoTurn(t *testing.T) {
	t.Parallel()
	l := newLanes()
	leave := l.enter(t.Context(), "u")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.enter(ctx, "u")()
	leave()
	l.enter(t.Context(), "u")() // the lane is free
}
