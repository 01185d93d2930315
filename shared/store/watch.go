package store

import (
	"context"
	"sync"
	"time"

	"parley.internal/shared/fault"
)

// linger is how long a listener outlives its last waiter, so that an agent that
// waits again at once costs no new one.
const linger = 30 * time.Second

// waits shares one driver listener a user's collection among all its waiters.
type waits struct {
	driver                   Driver
	maxListeners, maxWaiters int

	mu        sync.Mutex
	listeners map[scope]*listener
	waiting   int
	drained   chan struct{}
	closed    bool
}

type scope struct{ user, coll string }

type listener struct {
	scope   scope
	ready   chan struct{} // closed when the driver listens, or failed to
	err     error
	stop    func()
	waiters map[*waiter]struct{}
	idle    *time.Timer
}

type waiter struct {
	where []Cond
	wake  chan struct{}
}

func newWaits(d Driver) *waits {
	return &waits{driver: d, maxListeners: 80, maxWaiters: 4096, listeners: map[scope]*listener{}, drained: make(chan struct{})}
}

func (w *waits) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.drained:
	default:
		close(w.drained)
	}
}

func (w *waits) close() {
	w.mu.Lock()
	w.closed = true
	all := make([]*listener, 0, len(w.listeners))
	for _, l := range w.listeners {
		all = append(all, l)
	}
	w.listeners = map[scope]*listener{}
	w.mu.Unlock()
	for _, l := range all {
		<-l.ready
		if l.stop != nil {
			l.stop()
		}
	}
}

func busy(what string) error {
	return fault.New(fault.Unavailable, "too many %s wait here; repeat the call later, or without waiting", what).After(time.Second)
}

// join adds a waiter to the listener of its scope, which it starts where there is none.
func (w *waits) join(ctx context.Context, s scope, wt *waiter) (*listener, error) {
	w.mu.Lock()
	if w.waiting >= w.maxWaiters {
		w.mu.Unlock()
		return nil, busy("calls")
	}
	l := w.listeners[s]
	if l == nil {
		if len(w.listeners) >= w.maxListeners && !w.evictIdle() {
			w.mu.Unlock()
			return nil, busy("users")
		}
		l = &listener{scope: s, ready: make(chan struct{}), waiters: map[*waiter]struct{}{}}
		w.listeners[s] = l
		go w.start(l)
	}
	w.admit(l, wt)
	w.mu.Unlock()

	select {
	case <-l.ready:
	case <-w.drained:
	case <-ctx.Done():
	}
	return l, nil
}

// joinStanding adds a waiter to the listener of its scope if one stands and there is room, and returns nil otherwise.
func (w *waits) joinStanding(s scope, wt *waiter) *listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.listeners[s]
	if l == nil || w.waiting >= w.maxWaiters {
		return nil
	}
	select {
	case <-l.ready:
	default:
		return nil
	}
	w.admit(l, wt)
	return l
}

// admit registers a waiter at a listener; the caller holds the lock.
func (w *waits) admit(l *listener, wt *waiter) {
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	l.waiters[wt] = struct{}{}
	w.waiting++
}

// start lives on no caller's context: the listener serves everyone.
func (w *waits) start(l *listener) {
	stop, err := w.driver.Watch(context.Background(), l.scope.user, l.scope.coll, func(c Change) { w.tell(l, c) })
	w.mu.Lock()
	l.stop, l.err = stop, err
	if err != nil && w.listeners[l.scope] == l {
		delete(w.listeners, l.scope)
	}
	w.mu.Unlock()
	close(l.ready)
}

func (w *waits) tell(l *listener, c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Lost && w.listeners[l.scope] == l {
		delete(w.listeners, l.scope)
	}
	for wt := range l.waiters {
		if c.Lost || (c.Fields != nil && Match(wt.where, c.Fields)) {
			select {
			case wt.wake <- struct{}{}:
			default:
			}
		}
	}
}

func (w *waits) leave(l *listener, wt *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(l.waiters, wt)
	w.waiting--
	if len(l.waiters) == 0 && w.listeners[l.scope] == l {
		l.idle = time.AfterFunc(linger, func() { w.retire(l) })
	}
}

func (w *waits) retire(l *listener) {
	w.mu.Lock()
	if len(l.waiters) > 0 || w.listeners[l.scope] != l {
		w.mu.Unlock()
		return
	}
	delete(w.listeners, l.scope)
	w.mu.Unlock()
	<-l.ready
	if l.stop != nil {
		l.stop()
	}
}

// evictIdle makes room by ending a listener that nobody waits on.
func (w *waits) evictIdle() bool {
	for s, l := range w.listeners {
		if len(l.waiters) == 0 {
			delete(w.listeners, s)
			go func() {
				<-l.ready
				if l.stop != nil {
					l.stop()
				}
			}()
			return true
		}
	}
	return false
}

// listening is the key of a context's value that Listening reads.
type listening struct{}

// Listening reports whether ctx is that of a look of Collection.Wait at which the listener stood: a change committed
// after such a look wakes the wait, a change after another look need not.
func Listening(ctx context.Context) bool {
	return ctx.Value(listening{}) != nil
}

// Wait calls check at once, and again after each change to the collection that
// matches where, until check says that it is done, for at most d. It returns nil
// when check was done, when d is over, and at once when the database drains; the
// caller tells these apart by what check found. With too many waiters it is
// Unavailable. where is a hint of what is worth another look: ranges are best
// left out of it. Where no listener stands yet, check is called a second time as soon as one does; Listening
// tells the two looks apart.
func (c Collection[T]) Wait(ctx context.Context, t *Tenant, where []Cond, d time.Duration, check func(context.Context) (bool, error)) error {
	if d <= 0 {
		_, err := check(ctx)
		return err
	}
	coll, err := c.path()
	if err != nil {
		return err
	}
	wt := &waiter{wake: make(chan struct{}, 1)}
	for _, cond := range where {
		cond, err := cond.encoded()
		if err != nil {
			return err
		}
		wt.where = append(wt.where, cond)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	w, s := t.db.waits, scope{t.uid, coll}
	l := w.joinStanding(s, wt)
	if l == nil {
		if done, err := check(ctx); done || err != nil {
			return err
		}
	}
	for {
		if l == nil {
			if l, err = w.join(ctx, s, wt); err != nil {
				return err
			}
		}
		again, err := w.follow(ctx, l, wt, timer.C, check)
		w.leave(l, wt)
		if !again || err != nil {
			return err
		}
		l = nil
	}
}

// follow waits on one listener; again says that the listener ended and another
// must take its place.
func (w *waits) follow(ctx context.Context, l *listener, wt *waiter, over <-chan time.Time, check func(context.Context) (bool, error)) (again bool, err error) {
	select {
	case <-l.ready:
		if l.err != nil {
			return false, fault.Wrap(fault.Unavailable, l.err, "cannot wait for changes now").After(time.Second)
		}
	default:
		if err := ctx.Err(); err != nil {
			return false, fault.From(err)
		}
		return false, nil // the database drains
	}
	look := context.WithValue(ctx, listening{}, true)
	for {
		// The listener stands, so a change from here on wakes: this look closes the gap.
		if done, err := check(look); done || err != nil {
			return false, err
		}
		select {
		case <-w.drained:
			return false, nil
		default:
		}
		select {
		case <-wt.wake:
			w.mu.Lock()
			ended := w.listeners[l.scope] != l
			w.mu.Unlock()
			if ended {
				return true, nil
			}
		case <-over:
			return false, nil
		case <-w.drained:
			return false, nil
		case <-ctx.Done():
			return false, fault.From(ctx.Err())
		}
	}
}
