package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/shared/fault"
)

// The states of a wait, in the order in which it goes through them.
const (
	looking   = "looks before it listens"
	joining   = "waits for its listener"
	checking  = "looks while it listens"
	asleep    = "sleeps"
	patience  = time.Minute
	colleague = "u"
)

// The outcomes of an event for a wait.
const (
	goesOn  = "goes on"
	found   = "has what it waits for"
	inVain  = "ends without it"
	refused = "ends with a fault"
	either  = "ends"
)

// watched is a driver whose watches start when the test lets them.
type watched struct {
	Driver
	open chan struct{}

	mu     sync.Mutex
	notify func(Change) // of the newest listener
}

func (d *watched) Watch(_ context.Context, _, _ string, notify func(Change)) (func(), error) {
	<-d.open
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify = notify
	return func() {}, nil
}

// tell tells the listener that stands of a change.
func (d *watched) tell(c Change) {
	d.mu.Lock()
	notify := d.notify
	d.mu.Unlock()
	if notify != nil {
		notify(c)
	}
}

// awaiting is a wait for a document in the state "wanted".
type awaiting struct {
	*watched
	waits    *waits
	there    atomic.Bool   // the document is in its state
	at       chan struct{} // each look takes one after it has read the document, and one before it returns
	leave    context.CancelFunc
	ended    chan struct{}
	done     bool
	err      error
	returned bool
}

func newAwaiting(ctx context.Context) *awaiting {
	a := &awaiting{watched: &watched{open: make(chan struct{})}, at: make(chan struct{}), ended: make(chan struct{})}
	a.waits = newWaits(a.watched)
	ctx, a.leave = context.WithCancel(WithEnd(ctx, a.ended))
	tenant := &Tenant{db: &DB{waits: a.waits}, uid: colleague}
	look := func(context.Context) (bool, error) {
		seen := a.there.Load()
		<-a.at
		<-a.at
		a.done = a.done || seen
		return seen, nil
	}
	go func() {
		a.err = Collection[struct{}]{Name: "things"}.Wait(ctx, tenant, []Cond{Eq("status", "wanted")}, patience, look)
		a.returned = true
	}()
	return a
}

// read waits until a look has read the document, and finish lets it return.
func (a *awaiting) read()   { a.at <- struct{}{}; synctest.Wait() }
func (a *awaiting) finish() { a.at <- struct{}{}; synctest.Wait() }

// reach brings a new wait into a state.
func (a *awaiting) reach(state string) {
	if a.read(); state == looking {
		return
	}
	if a.finish(); state == joining {
		return
	}
	close(a.open)
	if a.read(); state == checking {
		return
	}
	a.finish()
}

// goOn takes a wait from a state to where it sleeps or has ended.
func (a *awaiting) goOn(state string) {
	if state == looking || state == checking {
		a.finish()
	}
	if state == looking || state == joining {
		close(a.open)
	}
	for synctest.Wait(); !a.returned; synctest.Wait() {
		select {
		case a.at <- struct{}{}:
		default:
			return
		}
	}
}

func (a *awaiting) outcome() string {
	switch {
	case !a.returned:
		return goesOn
	case a.done && a.err == nil:
		return found
	case a.err == nil:
		return inVain
	case fault.From(a.err) != nil:
		return refused
	}
	return a.err.Error()
}

func (a *awaiting) change(status string) {
	if status == "wanted" {
		a.there.Store(true)
	}
	a.tell(Change{Ref: Ref{User: colleague, Coll: "things", ID: "x"}, Fields: Fields{"status": status}})
}

var waitEvents = map[string]struct {
	happens func(*awaiting)
	// outcomes are those in each state; then is that of all others.
	outcomes map[string]string
	then     string
}{
	"a change that it waits for":   {happens: func(a *awaiting) { a.change("wanted") }, then: found},
	"a change of another document": {happens: func(a *awaiting) { a.change("other") }, then: goesOn},
	"its listener ends":            {happens: func(a *awaiting) { a.tell(Change{Lost: true}) }, then: goesOn},
	"its listener ends, and a change comes before there is another": {happens: func(a *awaiting) {
		a.there.Store(true)
		a.tell(Change{Lost: true})
	}, then: found},
	"its time passes":       {happens: func(*awaiting) { time.Sleep(patience + time.Second) }, then: inVain},
	"its caller leaves":     {happens: func(a *awaiting) { a.leave() }, then: refused},
	"it is ended":           {happens: func(a *awaiting) { close(a.ended) }, then: inVain},
	"the server is stopped": {happens: func(a *awaiting) { a.waits.drain() }, then: inVain},
	"a change that it waits for, and its caller leaves": {happens: func(a *awaiting) {
		a.change("wanted")
		synctest.Wait()
		a.leave()
	}, then: found, outcomes: map[string]string{looking: refused, joining: refused, checking: either}},
}

// A wait that goes on after an event still ends with the next change that it waits for.
func TestAWaitHasOneOutcomeForEachEventInEachState(t *testing.T) {
	t.Parallel()
	for name, e := range waitEvents {
		for _, state := range []string{looking, joining, checking, asleep} {
			t.Run(name+" while it "+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					a := newAwaiting(t.Context())
					a.reach(state)
					e.happens(a)
					synctest.Wait()
					a.goOn(state)
					want := e.then
					if o := e.outcomes[state]; o != "" {
						want = o
					}
					if got := a.outcome(); got != want && (want != either || !a.returned) {
						t.Errorf("it %s (%v), want that it %s", got, a.err, want)
					}
					if !a.returned {
						a.change("wanted")
						a.goOn(asleep)
						if got := a.outcome(); got != found {
							t.Errorf("after the next change it %s (%v)", got, a.err)
						}
					}
					if a.waits.waiting != 0 && a.returned {
						t.Errorf("%d waiters are counted after its end", a.waits.waiting)
					}
					a.leave()
					a.goOn(asleep)
					a.waits.close()
				})
			})
		}
	}
}
