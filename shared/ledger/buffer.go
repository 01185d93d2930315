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
	// flushAt is the number of new records that makes Run flush early, maxBatch the largest
	// number of records in a document, and maxPending the largest number in memory.
	flushAt    = 500
	maxBatch   = 200
	maxPending = 100_000

	// writers is the number of users whose records are written concurrently. After maxFailed
	// users have failed, a flush stops calling the store.
	writers   = 8
	maxFailed = 8

	defaultEvery = 2 * time.Second
)

// buffer holds the records that are not written yet.
type buffer struct {
	made sync.Once
	full chan struct{} // holds one value while flushAt new records wait
	turn chan struct{} // holds one value while a flush runs

	mu    sync.Mutex
	users map[string]*queue
	held  int // records in memory, including those being written
	fresh int // records since the last flush began
	// lost is the number of calls that were not recorded, told the part of it that an error
	// of Flush has reported.
	lost, told int64
}

// queue holds the records of one user. A batch that was tried keeps its id and its records until
// its outcome is known.
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

// Record records a call. It never waits for the store. If 100,000 records are in memory, or the
// call has no user, it counts the call as lost. It is safe for concurrent use.
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

// Run calls Flush at the interval Every, and when 500 new records wait, until ctx ends. The
// caller must call Flush once more after the last call, for the records that are left.
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

// Flush writes all calls that were recorded before it began. It keeps records that it could not
// write for the next flush. Its error has the number of these records and of the calls that were
// lost since the last report. Concurrent flushes run one after the other.
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

// drain writes the records of one user batch by batch, up to the first fault that may be
// temporary. A batch that the store refuses for good is lost.
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
		if err != nil { // a repeat would be refused too
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

// release removes n records from the count, as written or as lost.
func (b *buffer) release(n int, written bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if !written {
		b.lost += int64(n)
	}
}

// putBack returns the records that were not written, ahead of those recorded since.
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

// outcome returns the error of a flush. It reports each lost call once, but again after a flush
// whose context ended, because its caller may not have seen the error.
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
