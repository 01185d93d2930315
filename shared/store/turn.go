package store

import (
	"context"
	"sync"

	"parley.internal/shared/fault"
)

// turns let transactions of this process that change the same busy document follow each other in the order of their
// arrival.
type turns struct {
	mu sync.Mutex
	by map[string]*turn
}

// turn is held by the transaction that has put a value into held. Go serves senders in the order of their arrival.
type turn struct {
	held  chan struct{}
	users int // those that hold it or wait for it
}

// inTurn is the context key of InTurn.
type inTurn struct{}

// InTurn returns a context whose transactions wait for their turn, if the driver's transactions contend: they run one
// after the other with those of the same user and name, of this process. Otherwise transactions that read and change one
// document would abort each other, and each abort costs more than the wait. Those of other processes still contend.
func InTurn(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, inTurn{}, name)
}

// wait waits for the turn of a transaction of the user. The caller must call leave when the transaction is over. The end
// of ctx is a fault.
func (ts *turns) wait(ctx context.Context, user string) (leave func(), err error) {
	name, ok := ctx.Value(inTurn{}).(string)
	if !ok {
		return func() {}, nil
	}
	key := user + "\x00" + name
	ts.mu.Lock()
	t := ts.by[key]
	if t == nil {
		if ts.by == nil {
			ts.by = map[string]*turn{}
		}
		t = &turn{held: make(chan struct{}, 1)}
		ts.by[key] = t
	}
	t.users++
	ts.mu.Unlock()
	done := func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(ts.by, key)
		}
	}
	select {
	case t.held <- struct{}{}:
		return func() { <-t.held; done() }, nil
	case <-ctx.Done():
		done()
		return nil, fault.From(ctx.Err())
	}
}
