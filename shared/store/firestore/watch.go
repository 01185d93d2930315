package firestore

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// A listener receives the documents changed after a lower bound. The bound is a little in the past, because a write
// becomes visible some time after its changedAt. It is fixed for the life of a listener, and the documents after it
// accumulate, so a listener with many documents or of a certain age is replaced by one with a newer bound.
const (
	margin    = 10 * time.Second
	startTime = 20 * time.Second
	// attemptTimeout limits one attempt to start: a stream was seen to stay silent while another, begun at once, was
	// answered.
	attemptTimeout = startTime / 5
	// maxSkew is the largest error of the local clock that the bound tolerates.
	maxSkew = margin / 2
)

// renewal is the policy for replacing listeners.
type renewal struct {
	maxDocs        int           // a listener with more documents than this
	minAge         time.Duration // and at least this age is replaced,
	maxAge, jitter time.Duration // and any listener at maxAge, less a random part of jitter to spread the load
}

var renewals = renewal{maxDocs: 500, minAge: 30 * time.Second, maxAge: 10 * time.Minute, jitter: 2 * time.Minute}

func (r renewal) lifetime() time.Duration { return r.maxAge - rand.N(r.jitter) }

type watcher struct {
	d          *Driver
	user, coll string
	notify     func(store.Change)
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{}
}

// Watch implements store.Driver. The deletion of a document that was last written before the listener's bound is not
// reported.
func (d *Driver) Watch(ctx context.Context, user, coll string, notify func(store.Change)) (func(), error) {
	w := &watcher{d: d, user: user, coll: coll, notify: notify, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.register(w); err != nil {
		w.cancel()
		return nil, err
	}
	first, err := w.begin(ctx)
	if err != nil {
		w.cancel()
		close(w.done)
		d.unregister(w)
		return nil, err
	}
	go w.follow(first)
	return w.stop, nil
}

func (d *Driver) register(w *watcher) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fault.New(fault.Unavailable, "the store is closed")
	}
	d.watchers[w] = struct{}{}
	return nil
}

func (d *Driver) unregister(w *watcher) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.watchers, w)
}

// stop ends the watcher. After it has returned, notify is not called.
func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

// begin starts a listener and returns it after its first snapshot; it reports all later changes. If a stream stays
// silent or fails temporarily, begin tries again until startTime has passed. If the local clock turns out to be wrong,
// it starts once more with a corrected bound.
func (w *watcher) begin(ctx context.Context) (*listener, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := false
	for try := 1; ; try++ {
		l, err := w.d.listen(w.ctx, w.user, w.coll)
		if err != nil {
			return nil, err
		}
		select {
		case s := <-l.snaps:
			if s.err != nil {
				l.stop()
				if classify(s.err) != final && pause(ctx, try) {
					continue // a timeout on a lock, or the server is unavailable
				}
				return nil, w.d.toFault(ctx, s.err)
			}
			if late := w.d.adjustClock(l.bound, s.at); !late || again {
				l.first = s
				return l, nil
			}
			l.stop()
			again = true
		case <-time.After(attemptTimeout):
			l.stop()
		case <-ctx.Done():
			l.stop()
			return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "cannot wait for changes now").After(time.Second)
		case <-w.ctx.Done():
			l.stop()
			return nil, fault.New(fault.Unavailable, "the store is closed")
		}
	}
}

// adjustClock corrects the estimate of the server's time and reports whether the bound was too late by the server's
// clock.
func (d *Driver) adjustClock(bound, server time.Time) (late bool) {
	if server.IsZero() {
		return false
	}
	if off := server.Sub(d.now()); off.Abs() > maxSkew {
		d.skew.Store(int64(time.Until(server)))
	}
	return server.Sub(bound) < margin-maxSkew
}

// now returns the server's time, as far as it is known.
func (d *Driver) now() time.Time { return time.Now().Add(time.Duration(d.skew.Load())) }

// follow reports the changes of the current listener until the watcher is stopped or the listener fails.
func (w *watcher) follow(l *listener) {
	age := time.NewTimer(w.d.renew.lifetime())
	moved := make(chan *listener)
	var moving sync.WaitGroup
	defer func() {
		age.Stop()
		w.cancel()
		moving.Wait()
		w.d.unregister(w)
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
				w.notify(store.Change{Lost: true})
				return
			}
			w.notifyAll(s.changes)
			if s.size > w.d.renew.maxDocs && time.Since(l.begun) > w.d.renew.minAge {
				move()
			}
		case <-age.C:
			move()
		case next := <-moved:
			busy = false
			age.Reset(w.d.renew.lifetime())
			if next != nil {
				// The first snapshot of the new listener has the changes that the old one did not report.
				l.stop()
				w.notifyAll(next.first.changes)
				l = next
			}
		}
	}
}
