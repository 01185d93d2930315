package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
)

// The schedule of deletions in the embedded store. With Firestore its TTL policies delete documents.
const (
	purgeEvery = time.Minute
	purgeBatch = 200
)

// tend maintains the embedded store until ctx ends: it deletes expired documents, and runs every sweep at once and then
// at its interval. With Firestore the Cloud Functions do this. After the machine slept, no work is taken from agents
// until they have had the time to be heard of again.
func tend(ctx context.Context, o *opened, a *app.App, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	repeat := func(name string, every time.Duration, run func() (int, error)) {
		all.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				n, err := run()
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					log.Error("sweep", "sweep", name, "handled", n, "cause", err.Error())
				case n > 0:
					log.Info("sweep", "sweep", name, "handled", n)
				}
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	repeat("purge", purgeEvery, func() (int, error) { return purge(ctx, o) })
	admin := store.NewAdmin(o.db)
	w := &wake{Now: time.Now}
	all.Go(func() { w.watch(ctx, watchEvery) })
	for _, s := range a.Sweeps() {
		repeat(s.Name, s.Every, func() (int, error) {
			report, err := w.spare(s).Run(ctx, admin)
			return report.Total(), err
		})
	}
}

// purge deletes all expired documents and returns their number.
func purge(ctx context.Context, o *opened) (total int, err error) {
	for {
		n, err := o.file.Purge(ctx, o.schema, time.Now(), purgeBatch)
		total += n
		if err != nil || n < purgeBatch {
			return total, err
		}
	}
}
