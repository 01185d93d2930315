package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
)

// The times for the end of a server. Together, with two flushes, they are less than the 10 seconds that Cloud Run gives.
const (
	drainTimeout = 6 * time.Second
	flushTimeout = 1500 * time.Millisecond
)

// server is a server that runs. Its desk is nil over Firestore.
type server struct {
	store *opened
	app   *app.App
	http  *http.Server
	desk  *desk
	log   *slog.Logger
}

// react follows the changes of the embedded store and tends it, until loop ends.
func (s server) react(ctx, loop context.Context, background *sync.WaitGroup) error {
	follower, err := s.app.Follow(ctx, s.store.file, s.log)
	if err != nil {
		return err
	}
	background.Go(func() { follower.Run(loop) })
	background.Go(func() { s.app.Signal.FollowReplies(loop, store.NewAdmin(s.store.db), s.log) })
	background.Go(func() { tend(loop, s.store, s.app, s.log) })
	return nil
}

// drain ends the server. Waits end at once, so that their requests can. The ledger's buffered records are written
// before the first wait, and once more at the end: a client that stalls a request costs nobody else's records.
func (s server) drain(ctx context.Context) (err error) {
	s.store.db.Drain()
	err = s.desk.ends()
	s.log.Info("draining")
	err = errors.Join(err, s.flush(ctx))
	end, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var commands sync.WaitGroup
	var closed error
	commands.Go(func() { closed = s.desk.close(end) })
	if s.http.Shutdown(end) != nil {
		s.log.Warn("requests did not end in time and were cut off", "after", drainTimeout.String())
		err = errors.Join(err, s.http.Close())
	}
	commands.Wait()
	return errors.Join(err, closed, s.flush(ctx))
}

func (s server) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return s.app.Ledger.Flush(ctx)
}
