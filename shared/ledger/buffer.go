package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

const (
	// flushAt is how many new records make Run flush before its time, maxBatch how
	// many a document holds, and maxPending how many wait in memory at most.
	flushAt    = 500
	maxBatch   = 200
	maxPending = 100_000

	// writers is how many users are written at once. After maxFailed of them a
	// flush asks a store that is down no more.
	writers   = 8
	maxFailed = 8

	defaultEvery = 2 * time.Second
)

// buffer is what waits to be written.
type buffer struct {
	made sync.Once
	full chan struct{} // has one where flushAt new records wait
	turn chan struct{} // has one where a flush runs

	mu         sync.Mutex
	users      map[string]*queue
	held       int // records that wait, those being written among them
	fresh      int // records since the last flush began
	lost, told int64
}

// queue is what waits of one user. A batch that was tried stays as it is until it
// is known to be written: its id stands for these records.
type queue struct {
	tried   *attempt
	records []Record
}

type attempt struct {
	id      string
	records []Record
}

func (b *buffer) signals() (full, turn chan struct{}) {
	b.made.Do(func() { b.full, b.turn = make(chan struct{}, 1), make(chan struct{}, 1) })
	return b.full, b.turn
}

// Record takes a call down. It never waits for the store. Where too much waits
// already, or the call is no user's, the record is counted as lost.
func (s *Service) Record(u op.Usage) {
	b, r := &s.buffer, recordOf(u)
	full, _ := b.signals()
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.Caller.User == "" || b.held >= maxPending {
		b.lost++
		return
	}
	q := b.users[u.Caller.User]
	if q == nil {
		if b.users == nil {
			b.users = map[string]*queue{}
		}
		q = &queue{}
		b.users[u.Caller.User] = q
	}
	q.records = append(q.records, r)
	b.held++
	if b.fresh++; b.fresh == flushAt {
		select {
		case full <- struct{}{}:
		default:
		}
	}
}

// Run flushes every Every, and as soon as 500 new records wait, until ctx ends.
// What is left then is for a last Flush, after the last call.
func (s *Service) Run(ctx context.Context) {
	every := s.Every
	if every <= 0 {
		every = defaultEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	full, _ := s.buffer.signals()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-full:
		}
		err := s.Flush(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && s.Failed != nil {
			s.Failed(err)
		}
	}
}

// Flush writes all that was recorded before it began. What it could not write is
// kept for the next; its error says how much that is, and how many calls were lost
// on the way. Of two at once the second waits for the first.
func (s *Service) Flush(ctx context.Context) error {
	b := &s.buffer
	_, turn := b.signals()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return b.outcome(ctx, ctx.Err())
	}
	work := b.take()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	failures := func() int { mu.Lock(); defer mu.Unlock(); return len(failed) }
	slots := make(chan struct{}, writers)
	for user, q := range work {
		slots <- struct{}{}
		if failures() >= maxFailed {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := s.drain(ctx, user, q); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	wg.Wait()
	b.putBack(work)
	return b.outcome(ctx, failed...)
}

// drain writes what waits of one user, batch by batch, up to one that fails.
func (s *Service) drain(ctx context.Context, user string, q *queue) error {
	var refused error
	for q.tried != nil || len(q.records) > 0 {
		if q.tried == nil {
			n := min(len(q.records), maxBatch)
			q.tried = &attempt{s.NewID(), q.records[:n:n]}
			q.records = q.records[n:]
		}
		err := s.write(ctx, user, q.tried)
		if err != nil && fault.From(err).Kind.Redeliver() {
			return errors.Join(refused, err)
		}
		s.buffer.release(len(q.tried.records), err == nil)
		q.tried = nil
		if err != nil { // it would be refused each time
			refused = err
		}
	}
	return refused
}

func (b *buffer) take() map[string]*queue {
	b.mu.Lock()
	defer b.mu.Unlock()
	work := b.users
	b.users, b.fresh = nil, 0
	return work
}

// release gives back the room of n records, which count as lost where they were not written.
func (b *buffer) release(n int, written bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if !written {
		b.lost += int64(n)
	}
}

// putBack keeps what was not written, before what came since.
func (b *buffer) putBack(work map[string]*queue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for user, q := range work {
		if since := b.users[user]; since != nil {
			q.records = append(q.records, since.records...)
		}
		if q.tried == nil && len(q.records) == 0 {
			continue
		}
		if b.users == nil {
			b.users = map[string]*queue{}
		}
		b.users[user] = q
	}
}

// outcome is the error of a flush. A loss is told once, and again where the flush
// was ended and perhaps nobody listens.
func (b *buffer) outcome(ctx context.Context, failed ...error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost := b.lost - b.told
	if ctx.Err() == nil {
		b.told = b.lost
	}
	if len(failed) == 0 && lost == 0 {
		return nil
	}
	kind := fault.Internal
	if len(failed) > 0 {
		kind = fault.Of(failed[0])
	}
	return fault.Wrap(kind, errors.Join(failed...),
		"ledger: %d records wait for the next flush; %d calls were not recorded", b.held, lost)
}
