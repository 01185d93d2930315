package firestore

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const (
	// maxAttempts is how often fn runs where others change what it read.
	maxAttempts = 12
	// maxSilences is how many of these may have met no answer at all.
	maxSilences = 3

	firstPause = 25 * time.Millisecond
	longPause  = time.Second
)

// backoff is how long to wait before the next try: doubled each time, and half
// of it by chance, so that those who met once do not meet again.
func backoff(try int) time.Duration {
	d := min(firstPause<<(try-1), longPause)
	return d/2 + rand.N(d/2)
}

type work = func(ctx context.Context, r store.Reads) ([]store.Write, error)

// Update runs fn in a transaction, which its first read opens, and commits what
// it returns. An fn that reads nothing is one Commit, without a transaction.
func (d *Driver) Update(ctx context.Context, fn work) error {
	var retry []byte
	silences := 0
	leave := func() {}
	defer func() { leave() }()
	for try := 1; ; try++ {
		a := &attempt{d: d, retry: retry}
		fate, err := a.run(ctx, fn)
		if fate == transient {
			silences++
		}
		if fate == final || silences == maxSilences || try == maxAttempts {
			return d.toFault(ctx, err)
		}
		if try == 1 && fate == aborted {
			leave = d.retries.wait(ctx, a.user)
		}
		if !pause(ctx, try) {
			if fate == aborted {
				return contended(ctx.Err())
			}
			return fault.From(ctx.Err())
		}
		if a.tx != nil {
			retry = a.tx
		}
	}
}

// attempt is one run of fn, and what it reads through.
type attempt struct {
	d     *Driver
	retry []byte // the attempt before, which the server then favours

	mu     sync.Mutex
	user   string // whose documents it read last
	tx     []byte
	fate   failure
	broken error // what ended the transaction under fn
	over   bool
}

// run runs fn once and commits. Where the fate is not final, fn may run again.
func (a *attempt) run(ctx context.Context, fn work) (failure, error) {
	writes, err := fn(ctx, a)
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	switch {
	case a.broken != nil:
		// Whatever fn made of it: this transaction cannot commit.
		a.rollback()
		return a.fate, a.broken
	case err != nil || len(writes) == 0:
		a.rollback()
		return final, err
	}
	return a.commit(ctx, writes)
}

func (a *attempt) commit(ctx context.Context, writes []store.Write) (failure, error) {
	req, err := a.d.commitRequest(writes, a.tx)
	if err != nil {
		a.rollback()
		return final, err
	}
	call, cancel := a.d.call(ctx)
	defer cancel()
	_, err = a.d.client.Commit(call, req)
	if err == nil {
		return final, nil
	}
	a.rollback()
	fate := classify(err)
	if fate == aborted {
		return aborted, err
	}
	if refused := refusal(err, writes); refused != nil {
		return final, refused
	}
	if fate == transient {
		if a.tx == nil && repeatable(writes) {
			return transient, err
		}
		return final, fault.Wrap(fault.Unavailable, err, "the store gave no answer: the change may have been made or not; look before repeating the call")
	}
	return final, err
}

// rollback frees what the transaction holds, off the caller's path: the server
// would do it later by itself, while others wait. It does no harm to one that the
// server gave up, and the next attempt may still name it.
func (a *attempt) rollback() {
	if a.tx == nil {
		return
	}
	req := &firestorepb.RollbackRequest{Database: a.d.root, Transaction: a.tx}
	a.d.afterwards(func(ctx context.Context) {
		ctx, cancel := a.d.call(ctx)
		defer cancel()
		_ = a.d.client.Rollback(ctx, req)
	})
}

// Get reads documents in the transaction.
func (a *attempt) Get(ctx context.Context, refs []store.Ref) (raws []*store.Raw, err error) {
	if len(refs) == 0 {
		return nil, nil
	}
	err = a.read(ctx, refs[0].User, func(v view) (tx []byte, err error) {
		raws, tx, err = a.d.get(ctx, refs, v)
		return tx, err
	})
	return raws, err
}

// Query runs a query in the transaction.
func (a *attempt) Query(ctx context.Context, plan store.Plan) (raws []store.Raw, err error) {
	err = a.read(ctx, plan.User, func(v view) (tx []byte, err error) {
		raws, tx, err = a.d.query(ctx, plan, v)
		return tx, err
	})
	return raws, err
}

// read does one read. The first opens the transaction, and others wait for it.
func (a *attempt) read(ctx context.Context, user string, do func(view) ([]byte, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.user = user
	if a.over {
		return fault.New(fault.Internal, "firestore: a read through a transaction that is over")
	}
	if a.broken != nil {
		return a.d.toFault(ctx, a.broken)
	}
	v := view{tx: a.tx}
	var tx []byte
	var err error
	if v.tx == nil {
		v.open = &firestorepb.TransactionOptions{Mode: &firestorepb.TransactionOptions_ReadWrite_{
			ReadWrite: &firestorepb.TransactionOptions_ReadWrite{RetryTransaction: a.retry},
		}}
		if tx, err = do(v); len(tx) > 0 {
			a.tx = tx
		}
	} else {
		a.mu.Unlock()
		_, err = do(v)
		a.mu.Lock()
	}
	if err != nil && classify(err) != final && ctx.Err() == nil {
		a.fate, a.broken = classify(err), err
	}
	return a.d.toFault(ctx, err)
}
