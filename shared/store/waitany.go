package store

import (
	"context"
	"errors"
	"sync"
)

// Changes is a [Collection.Wait] with all but its context and its check given.
type Changes func(ctx context.Context, check func(context.Context) (bool, error)) error

// WaitAny waits for changes of several collections: it calls look after a change of any of them, until it returns true or
// an error, or the time of the waits is over. The caller has just looked. Calls of a source whose listener is not
// established yet are skipped for that reason; of the first calls of each source with an established listener only the
// last one looks: from then on all listeners are established, and no change is missed.
func WaitAny(ctx context.Context, look func(context.Context) (bool, error), sources ...Changes) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	done, standing := false, 0
	check := func() func(context.Context) (bool, error) {
		stands := false
		return func(ctx context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			first := !stands && Listening(ctx)
			if first {
				stands = true
				standing++
			}
			if done || !stands || (first && standing < len(sources)) {
				return done, nil
			}
			var err error
			done, err = look(ctx)
			return done, err
		}
	}
	errs := make([]error, len(sources))
	var wg sync.WaitGroup
	for i, follow := range sources {
		wg.Go(func() {
			errs[i] = follow(ctx, check())
			cancel()
		})
	}
	wg.Wait()
	if done {
		return nil
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}
