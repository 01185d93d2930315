package firestore

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const (
	// maxAttempts is the maximum number of runs of fn.
	maxAttempts = 12
	// maxUnanswered is the maximum number of runs that end without an answer of the server.
	maxUnanswered = 3

	firstPause = 25 * time.Millisecond
	longPause  = time.Second
)

// backoff returns the wait before the next try. It doubles each time, and half of it is random, so that transactions
// that collided once do not collide again.
func backoff(try int) time.Duration {
	d := min(firstPause<<(try-1), longPause)
	return d/2 + rand.N(d/2)
}

type work = func(ctx context.Context, r store.Reads) ([]store.Write, error)

// Update implements store.Driver. The first read of fn opens the transaction. If fn reads nothing, Update sends one
// Commit without a transaction. A Commit without an answer is repeated only if applying it twice is harmless; otherwise
// the fault is Unavailable and the outcome unknown.
func (d *Driver) Update(ctx context.Context, fn work) error {
	return d.update(ctx, fn, func(a *attempt) {})
}

// update runs attempts, each of which begin prepares.
func (d *Driver) update(ctx context.Context, fn work, begin func(*attempt)) error {
	var retry []byte
	unanswered, logID := 0, newLogID()
	leave := func() {}
	defer func() { leave() }()
	for try := 1; ; try++ {
		a := &attempt{d: d, retry: retry, logID: logID}
		begin(a)
		outcome, err := a.run(ctx, fn)
		if outcome == transient {
			unanswered++
		}
		if outcome == final || unanswered == maxUnanswered || try == maxAttempts {
			return d.toFault(ctx, err)
		}
		if try == 1 && outcome == aborted {
			leave = d.retries.wait(ctx, a.user)
		}
		if !pause(ctx, try) {
			if outcome == aborted {
				return contended(ctx.Err())
			}
			return fault.From(ctx.Err())
		}
		if a.tx != nil {
			retry = a.tx
		}
	}
}

// attempt is one run of fn, and the reader that fn gets.
type attempt struct {
	d     *Driver
	retry []byte // the transaction of the previous attempt, which gives this one priority
	logID string // the document of the commit in the log
	// seen are the documents that fn has read outside of a transaction; nil if it reads in one.
	seen *seen

	mu      sync.Mutex
	user    string // the user of the last read
	tx      []byte
	outcome failure
	broken  error // the error of a read that ended the transaction
	over    bool
}

// run runs fn once and commits. If the failure is not final, fn may run again.
func (a *attempt) run(ctx context.Context, fn work) (failure, error) {
	writes, err := fn(ctx, a)
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	switch {
	case a.broken != nil:
		// The transaction cannot commit, even if fn ignored the error.
		a.rollback()
		return a.outcome, a.broken
	case err != nil || len(writes) == 0:
		a.rollback()
		return final, err
	}
	return a.commit(ctx, writes)
}

func (a *attempt) commit(ctx context.Context, writes []store.Write) (failure, error) {
	logs, ok, err := a.d.logWrite(a.logID, writes)
	if ok {
		writes = append(slices.Clip(writes), logs)
	}
	writes = append(slices.Clip(writes), textWrites(writes)...)
	var req *firestorepb.CommitRequest
	if err == nil {
		req, err = a.d.commitRequest(writes, a.tx)
	}
	watched := ""
	if err == nil {
		watched = a.seen.require(req)
	}
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
	outcome := classify(err)
	switch {
	case outcome == transient && watched != "":
		a.d.touch(watched)
	case outcome == transient:
		a.forestall()
	case watched != "" && changed(err):
		outcome, err = aborted, contended(err)
	default:
		a.rollback()
	}
	if outcome == aborted {
		return aborted, err
	}
	if refused := refusal(err, writes); refused != nil {
		return final, refused
	}
	if outcome == transient {
		err = fault.Wrap(fault.OutcomeUnknown, err, "the store did not answer: "+
			"the change may or may not have been made; read what it would change before you repeat the call").
			After(unknownFor)
		if a.tx == nil && watched == "" && repeatable(writes) {
			return transient, err
		}
	}
	return final, err
}

// unknownFor is the time after which a change whose outcome is unknown has been made or never will be.
const unknownFor = 5 * time.Second

// rollback releases the locks of the transaction, in the background. The server would release them later by itself,
// while others wait. It is harmless for a transaction that the server has aborted, and the next attempt may still name
// the transaction.
func (a *attempt) rollback() {
	if a.tx == nil {
		return
	}
	req := &firestorepb.RollbackRequest{Database: a.d.root, Transaction: a.tx}
	a.d.inBackground(func(ctx context.Context) {
		ctx, cancel := a.d.call(ctx)
		defer cancel()
		_ = a.d.client.Rollback(ctx, req)
	})
}

// forestall ends the transaction of a commit that got no answer and waits until the server has done so: a commit that
// arrives later changes nothing, and a caller that looks at the documents now sees the outcome. Where the server does not
// answer in [rollbackTimeout] either, the outcome stays open.
func (a *attempt) forestall() {
	if a.tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	req := &firestorepb.RollbackRequest{Database: a.d.root, Transaction: a.tx}
	for try := 1; ; try++ {
		call, done := a.d.call(ctx)
		err := a.d.client.Rollback(call, req)
		done()
		if err == nil || classify(err) != transient || try == maxUnanswered || !pause(ctx, try) {
			return
		}
	}
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

// read runs one read. The first one opens the transaction; concurrent ones wait for it.
func (a *attempt) read(ctx context.Context, user string, do func(view) ([]byte, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.user = user
	if a.over {
		return fault.New(fault.Internal, "firestore: the transaction is over; reads must come before the function returns")
	}
	if a.broken != nil {
		return a.d.toFault(ctx, a.broken)
	}
	v := view{tx: a.tx}
	var tx []byte
	var err error
	if a.seen != nil {
		v.seen = a.seen.note
		a.mu.Unlock()
		_, err = do(v)
		a.mu.Lock()
	} else if v.tx == nil {
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
		a.outcome, a.broken = classify(err), err
	}
	return a.d.toFault(ctx, err)
}
