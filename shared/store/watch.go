package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/shared/fault"
)

// idleTimeout is the time that a listener outlives its last waiter, so that an agent that waits again soon does not
// need a new one.
const idleTimeout = 30 * time.Second

// waits shares one driver watch of a user's collection among all its waiters.
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
	ready   chan struct{} // closed when the driver's watch has started or failed
	err     error
	stop    func()
	waiters waiters
	idle    *time.Timer
}

type waiter struct {
	where       []Cond
	wake        chan struct{}
	distributor *distributor // that is given the changes in place of a wake, nil for none

	// again wakes the waiter at againAt, nil for never. Only its checks use them, one after the other.
	again   *time.Timer
	againAt time.Time
}

func newWaits(d Driver) *waits {
	listeners := math.MaxInt
	if d, ok := d.(interface{ MaxListeners() int }); ok {
		listeners = d.MaxListeners()
	}
	return &waits{
		driver: d, maxListeners: listeners, maxWaiters: 4096,
		listeners: map[scope]*listener{}, drained: make(chan struct{}),
	}
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

func errTooMany(noun string) error {
	return fault.New(fault.Unavailable, "too many %s are waiting; repeat the call later, or without waiting", noun).
		After(time.Second)
}

// join adds a waiter to the listener of its scope, and starts one if there is none. It returns when the listener is
// ready, the database drains or ctx ends. Too many waiters or listeners are Unavailable.
func (w *waits) join(ctx context.Context, s scope, wt *waiter) (*listener, error) {
	w.mu.Lock()
	if w.waiting >= w.maxWaiters {
		w.mu.Unlock()
		return nil, errTooMany("calls")
	}
	l := w.listeners[s]
	if l == nil {
		if len(w.listeners) >= w.maxListeners && !w.evictIdle() {
			w.mu.Unlock()
			return nil, errTooMany("users")
		}
		l = &listener{scope: s, ready: make(chan struct{}), waiters: newWaiters()}
		w.listeners[s] = l
		go w.start(l)
	}
	w.addWaiter(l, wt)
	w.mu.Unlock()

	over, also := endsOf(ctx)
	select {
	case <-l.ready:
	case <-w.drained:
	case <-over:
	case <-also:
	case <-ctx.Done():
	}
	return l, nil
}

// joinReady adds a waiter to the listener of its scope, and returns nil if there is no ready one or no room.
func (w *waits) joinReady(s scope, wt *waiter) *listener {
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
	w.addWaiter(l, wt)
	return l
}

// addWaiter adds a waiter to a listener. The caller must hold the lock.
func (w *waits) addWaiter(l *listener, wt *waiter) {
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	l.waiters.add(wt)
	w.waiting++
}

// start starts the driver's watch. It uses no caller's context, because all waiters share the listener.
func (w *waits) start(l *listener) {
	stop, err := w.driver.Watch(context.Background(), l.scope.user, l.scope.coll, func(c Change) { w.notify(l, c) })
	w.mu.Lock()
	l.stop, l.err = stop, err
	if err != nil && w.listeners[l.scope] == l {
		delete(w.listeners, l.scope)
	}
	w.mu.Unlock()
	close(l.ready)
}

func (w *waits) notify(l *listener, c Change) {
	for _, d := range w.wake(l, c) {
		if d.give(c) {
			continue
		}
		w.mu.Lock()
		l.waiters.matching(c.Fields, func(wt *waiter) {
			if wt.distributor == d {
				wt.awake()
			}
		})
		w.mu.Unlock()
	}
}

// wake wakes the waiters that a change concerns, and returns the distributors of those that have one.
func (w *waits) wake(l *listener, c Change) (distributors []*distributor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.Lost:
		if w.listeners[l.scope] == l {
			delete(w.listeners, l.scope)
		}
		for wt := range l.waiters.all {
			wt.awake()
		}
	case c.Fields != nil:
		l.waiters.matching(c.Fields, func(wt *waiter) {
			if wt.distributor == nil {
				wt.awake()
			} else if !slices.Contains(distributors, wt.distributor) {
				distributors = append(distributors, wt.distributor)
			}
		})
	}
	return distributors
}

// awake makes the waiter look, now or when it has looked.
func (wt *waiter) awake() {
	select {
	case wt.wake <- struct{}{}:
	default:
	}
}

func (w *waits) leave(l *listener, wt *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.waiters.remove(wt)
	w.waiting--
	if len(l.waiters.all) == 0 && w.listeners[l.scope] == l {
		l.idle = time.AfterFunc(idleTimeout, func() { w.closeIdle(l) })
	}
}

func (w *waits) closeIdle(l *listener) {
	w.mu.Lock()
	if len(l.waiters.all) > 0 || w.listeners[l.scope] != l {
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

// evictIdle ends a listener without waiters, and reports whether there was one. The caller must hold the lock.
func (w *waits) evictIdle() bool {
	for s, l := range w.listeners {
		if len(l.waiters.all) == 0 {
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

// listening is the context key of Listening.
type listening struct{}

// Listening reports whether ctx is that of a check of Collection.Wait that runs while the listener is ready: a change
// committed after such a check wakes the wait, a change after another check need not.
func Listening(ctx context.Context) bool {
	return ctx.Value(listening{}) != nil
}

// Wait calls check at once, and again after each change to the collection that matches where, until check returns true
// or an error, or d has passed. It returns nil when check returned true, when d has passed, when the database drains, and
// when the context's waits are ended ([WithEnd]); the caller tells these apart by the result of check. Too many waiters
// are Unavailable. The end of ctx is a fault too.
//
// where selects the changes that can make a difference. Ranges are best left out of it, because their bounds are fixed
// while a wait goes on. Conditions that become true at a time, without a change, are for [CheckAgain].
//
// A user has at most one listener for a collection, and none below its documents: a wait for documents below others
// follows the parents, one of which must change with them, such as the number of its messages. A wait on a collection
// below documents is Internal.
//
// If no listener is ready yet, check is called a second time as soon as one is; [Listening] tells the two calls apart.
func (c Collection[T]) Wait(
	ctx context.Context, t *Tenant, where []Cond, d time.Duration, check func(context.Context) (bool, error),
) error {
	return c.wait(ctx, t, where, d, nil, check)
}

func (c Collection[T]) wait(
	ctx context.Context, t *Tenant, where []Cond, d time.Duration, to *distributor,
	check func(context.Context) (bool, error),
) error {
	if strings.Contains(c.Name, "*") {
		return fault.New(fault.Internal, "store: %s is below documents, and a wait follows the collection of those", c.Name)
	}
	if d <= 0 {
		_, err := check(ctx)
		return err
	}
	coll, err := c.path()
	if err != nil {
		return err
	}
	wt := &waiter{wake: make(chan struct{}, 1), distributor: to}
	defer wt.forget()
	ctx = context.WithValue(ctx, waiting{}, wt)
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
	l := w.joinReady(s, wt)
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

// follow waits on one listener. again reports that the listener ended and another must take its place.
func (w *waits) follow(
	ctx context.Context, l *listener, wt *waiter, timeout <-chan time.Time, check func(context.Context) (bool, error),
) (again bool, err error) {
	select {
	case <-l.ready:
		if l.err != nil {
			return false, fault.Wrap(fault.Unavailable, l.err, "cannot wait for changes now").After(time.Second)
		}
	default:
		if err := ctx.Err(); err != nil {
			return false, fault.From(err)
		}
		return false, nil // the database drains, or the wait was ended
	}
	checking := context.WithValue(ctx, listening{}, true)
	over, also := endsOf(ctx)
	for {
		// From here on a change wakes the waiter. This check finds the changes before.
		if done, err := check(checking); done || err != nil {
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
		case <-timeout:
			return false, nil
		case <-over:
			return false, nil
		case <-also:
			return false, nil
		case <-w.drained:
			return false, nil
		case <-ctx.Done():
			return false, fault.From(ctx.Err())
		}
	}
}
