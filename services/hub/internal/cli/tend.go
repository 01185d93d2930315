package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
)

// The laptop's schedule; in the cloud Firestore's TTL does it.
const (
	purgeEvery = time.Minute
	purgeBatch = 200
)

// tend keeps the embedded store until ctx ends: what is past its time is deleted,
// and every sweep runs at once and then as often as it says. In the cloud the
// functions do this.
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
					log.Error("sweep", "sweep", name, "settled", n, "cause", err.Error())
				case n > 0:
					log.Info("sweep", "sweep", name, "settled", n)
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
	for _, s := range a.Sweeps() {
		repeat(s.Name, s.Every, func() (int, error) {
			report, err := s.Run(ctx, admin)
			return report.Total(), err
		})
	}
}

func purge(ctx context.Context, o *opened) (total int, err error) {
	for {
		n, err := o.file.Purge(ctx, o.schema, time.Now(), purgeBatch)
		total += n
		if err != nil || n < purgeBatch {
			return total, err
		}
	}
}
