package firestore

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	hi "cloud.google.com/go/firestore"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// A listener hears of documents changed after a lower bound. The bound is a
// little in the past, because a write takes its time before it is seen; and as
// it stays while time goes on, a listener that has heard much or lived long is
// replaced by one with a newer bound.
const (
	margin    = 10 * time.Second
	startTime = 20 * time.Second
	// patience is how long one attempt may take: a stream was seen to stay silent
	// where another, begun at once, was answered.
	patience = startTime / 5
	// maxSkew is how far our clock may be off before the bound heeds it.
	maxSkew = margin / 2
)

// renewal says when a listener is replaced.
type renewal struct {
	heard          int           // it holds more documents than that,
	minAge         time.Duration // and is older than this; or
	maxAge, chance time.Duration // it has this age, less by chance, so that not all move at once
}

var renewals = renewal{heard: 500, minAge: 30 * time.Second, maxAge: 10 * time.Minute, chance: 2 * time.Minute}

func (r renewal) lifetime() time.Duration { return r.maxAge - rand.N(r.chance) }

type watcher struct {
	d          *Driver
	user, coll string
	tell       func(store.Change)
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{}
}

// Watch tells of changes to a collection. A document that was last written
// before the listener's bound and is then deleted is not told of: nothing of it
// is left to match.
func (d *Driver) Watch(ctx context.Context, user, coll string, tell func(store.Change)) (func(), error) {
	w := &watcher{d: d, user: user, coll: coll, tell: tell, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.enlist(w); err != nil {
		w.cancel()
		return nil, err
	}
	first, err := w.begin(ctx)
	if err != nil {
		w.cancel()
		close(w.done)
		d.dismiss(w)
		return nil, err
	}
	go w.follow(first)
	return w.stop, nil
}

func (d *Driver) enlist(w *watcher) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fault.New(fault.Unavailable, "the store is closed")
	}
	if d.listens == nil {
		opts, err := d.opts.client(1)
		if err != nil {
			return err
		}
		// The client lives as long as the driver, not as long as this call.
		d.listens, err = hi.NewClientWithDatabase(context.WithoutCancel(w.ctx), d.opts.Project, d.opts.Database, opts...)
		if err != nil {
			return fault.Wrap(fault.Internal, err, "firestore: cannot listen to %s", d.root)
		}
	}
	d.watchers[w] = struct{}{}
	return nil
}

func (d *Driver) dismiss(w *watcher) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.watchers, w)
}

// stop ends the watcher and waits until it tells nothing any more.
func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

// begin starts a listener and waits for what is there, from where on nothing is
// missed. It begins again, once, where our clock proved wrong, and as long as a start may
// take where a stream stays silent or fails in a way that passes.
func (w *watcher) begin(ctx context.Context) (*listener, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := false
	for try := 1; ; try++ {
		l := w.d.listen(w.ctx, w.user, w.coll)
		select {
		case s := <-l.snaps:
			if s.err != nil {
				l.stop()
				if classify(s.err) != final && pause(ctx, try) {
					continue // it waited for a lock in vain, or the server was away
				}
				return nil, w.d.toFault(ctx, s.err)
			}
			if late := w.d.heedClock(l.bound, s.at); !late || again {
				l.first = s
				return l, nil
			}
			l.stop()
			again = true
		case <-time.After(patience):
			l.stop()
		case <-ctx.Done():
			l.stop()
			return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "the store does not tell of changes now").After(time.Second)
		case <-w.ctx.Done():
			l.stop()
			return nil, fault.New(fault.Unavailable, "the store is closed")
		}
	}
}

// heedClock says whether a bound was too late by the server's clock, and learns
// how far ours is off.
func (d *Driver) heedClock(bound, server time.Time) (late bool) {
	if server.IsZero() {
		return false
	}
	if off := server.Sub(d.now()); off.Abs() > maxSkew {
		d.skew.Store(int64(time.Until(server)))
	}
	return server.Sub(bound) < margin-maxSkew
}

// now is the server's time, as far as is known.
func (d *Driver) now() time.Time { return time.Now().Add(time.Duration(d.skew.Load())) }

// follow tells what listeners hear until the watcher is stopped or one fails.
func (w *watcher) follow(l *listener) {
	age := time.NewTimer(w.d.renew.lifetime())
	moved := make(chan *listener)
	var moving sync.WaitGroup
	defer func() {
		age.Stop()
		w.cancel()
		moving.Wait()
		w.d.dismiss(w)
		close(w.done)
	}()
	busy := false
	move := func() {
		if !busy {
			busy = true
			moving.Go(func() { w.replace(moved) })
		}
	}
	for {
		select {
		case <-w.ctx.Done():
			l.stop()
			return
		case s := <-l.snaps:
			if w.ctx.Err() != nil {
				continue
			}
			if s.err != nil {
				l.stop()
				w.tell(store.Change{Lost: true})
				return
			}
			w.pass(s.changes)
			if s.size > w.d.renew.heard && time.Since(l.begun) > w.d.renew.minAge {
				move()
			}
		case <-age.C:
			move()
		case next := <-moved:
			busy = false
			age.Reset(w.d.renew.lifetime())
			if next != nil {
				// What the old one had not told yet is among what the new one found.
				l.stop()
				w.pass(next.first.changes)
				l = next
			}
		}
	}
}
