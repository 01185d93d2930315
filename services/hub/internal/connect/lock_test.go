package connect_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"parley.internal/services/hub/internal/connect"
)

// The race detector does not see a lock of files as an order, so the counters are atomic.
func TestOneAtATimeHasTheLockAndNothingIsLeftOfIt(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "parley")
	var inside, most, rounds atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				release, err := connect.Lock(t.Context(), home)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				rounds.Add(1)
				inside.Add(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || rounds.Load() != 80 {
		t.Errorf("%d had it at once, in %d rounds", most.Load(), rounds.Load())
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestAnInterruptedWaitForTheLockEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	release, err := connect.Lock(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect.Lock(ctx, home); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
