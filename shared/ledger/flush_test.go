package ledger

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

func TestConcurrentRecordsAreWrittenOnce(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		goroutines, calls := 8, 150
		b.Every = time.Millisecond
		// Contention loses nothing: the records wait for the next flush.
		failed := func(err error) {
			if err != nil && !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
		}
		b.Failed = failed
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var recording, running sync.WaitGroup
		running.Go(func() { b.Run(ctx) })
		for g := range goroutines {
			recording.Go(func() {
				for i := range calls {
					for _, user := range []string{"u", "v"} {
						b.Record(use(by(user, "alpha"), "tool", inSession(g*calls+i)))
					}
					if i == calls/2 {
						failed(b.Flush(t.Context()))
					}
				}
			})
		}
		recording.Wait()
		stop()
		running.Wait()
		domaintest.Check(t, domaintest.Retry(t.Context(), func() error { return b.Flush(t.Context()) }))
		b.counted("u", goroutines*calls)
		b.counted("v", goroutines*calls)
		if n := b.Lost(); n != 0 {
			t.Errorf("%d were lost", n)
		}
	})
}

func TestFaultsOfTheStoreLoseAndDuplicateNothing(t *testing.T) {
	for name, c := range map[string]struct {
		kind   fault.Kind
		commit bool
	}{
		"not committed":                {fault.Unavailable, false},
		"committed, answer lost":       {fault.Unavailable, true},
		"contention":                   {fault.Conflict, false},
		"an internal error":            {fault.Internal, false},
		"committed, an internal error": {fault.Internal, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachFrail(t, func(t *testing.T, b *book, d *frail) {
				// The third and the fourth transaction fail: the last one of the first flush, and
				// the first one of the second flush, which is the same batch again.
				d.then = func(n int64) (error, bool) {
					if n == 3 || n == 4 {
						return fault.New(c.kind, "down"), c.commit
					}
					return nil, true
				}
				for i := range 500 {
					b.Record(use(alpha, "tool", inSession(i)))
				}
				err := b.Flush(t.Context())
				if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), "100 records wait") ||
					!strings.Contains(err.Error(), "0 calls were not recorded") {
					t.Errorf("the first flush: %v", err)
				}
				for i := range 50 {
					b.Record(use(alpha, "tool", inSession(500+i)))
				}
				err = b.Flush(t.Context())
				if c.commit {
					// The repeat found its own batch.
					if err != nil {
						t.Errorf("the second flush: %v", err)
					}
				} else if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), "150 records wait") {
					t.Errorf("the second flush: %v", err)
				}
				b.flush()
				b.counted("u", 550)
				if n := b.Lost(); n != 0 {
					t.Errorf("%d were lost", n)
				}
			})
		})
	}
}

func TestRecordsDuringAFailedFlushAreKept(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		d.then = func(n int64) (error, bool) {
			if n > 1 {
				return nil, true
			}
			b.Record(use(alpha, "tool", inSession(1)))
			return errDown, false
		}
		b.Record(use(alpha, "tool", inSession(0)))
		if err := b.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "2 records wait") {
			t.Error(err)
		}
		b.flush()
		b.counted("u", 2)
	})
}

func TestAFailingUserDoesNotBlockOthers(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.Record(use(by("__no_user__", ""), "tool", inSession(0)))
		b.Record(use(by("u", ""), "tool", inSession(0)))
		for range 2 {
			if err := b.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 records wait") {
				t.Error(err)
			}
		}
		b.counted("u", 1)
	})
}

func TestABatchThatTheStoreRefusesIsCountedAsLost(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		d.then = func(n int64) (error, bool) {
			if n == 1 {
				return fault.New(fault.Invalid, "the document would be too large"), false
			}
			return nil, true
		}
		for i := range 203 {
			b.Record(use(alpha, "tool", inSession(i)))
		}
		if err := b.Flush(t.Context()); !fault.Is(err, fault.Invalid) ||
			!strings.Contains(err.Error(), "0 records wait") ||
			!strings.Contains(err.Error(), "200 calls were not recorded") {
			t.Error(err)
		}
		if n, kept := b.Lost(), len(b.records("u")); n != 200 || kept != 3 {
			t.Errorf("%d lost, %d kept", n, kept)
		}
		b.flush() // a loss is reported once
	})
}

func TestAFlushStopsAfterSeveralFailures(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		down := true
		d.then = func(int64) (error, bool) { return errDown, !down }
		const users = 60
		for i := range users {
			b.Record(use(by(fmt.Sprintf("u%d", i), ""), "tool", inSession(0)))
		}
		if err := b.Flush(t.Context()); !fault.Is(err, fault.Unavailable) ||
			!strings.Contains(err.Error(), "60 records wait") {
			t.Error(err)
		}
		if n := d.updates.Load(); n >= maxFailed+writers {
			t.Errorf("it was asked %d times", n)
		}
		down, d.then = false, nil
		b.flush()
		for i := range users {
			b.counted(fmt.Sprintf("u%d", i), 1)
		}
	})
}

func TestAFullBufferLosesTheNewestCallsAndReportsThem(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		d.then = func(int64) (error, bool) { return errDown, false }
		for i := range maxPending + 5 {
			b.Record(use(alpha, "tool", inSession(i)))
		}
		if n := b.Lost(); n != 5 {
			t.Errorf("%d lost", n)
		}
		for _, want := range []string{"100000 records wait for the next flush; 5 calls",
			"100000 records wait for the next flush; 0 calls"} {
			if err := b.Flush(t.Context()); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		b.Record(use(alpha, "tool"))
		if n := b.Lost(); n != 6 {
			t.Errorf("%d lost while as many wait", n)
		}
	})
}

func TestWrittenRecordsFreeTheirPlaces(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.buffer.held = maxPending - 1
		b.Record(use(alpha, "tool", inSession(0)))
		b.Record(use(alpha, "tool", inSession(1)))
		if err := b.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 calls were not recorded") {
			t.Error(err)
		}
		b.Record(use(alpha, "tool", inSession(1)))
		b.flush()
		b.counted("u", 2)
		if n := b.Lost(); n != 1 {
			t.Errorf("%d lost", n)
		}
	})
}

func TestACallWithoutAUserIsCountedAsLost(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.Record(use(identity.Caller{}, "tool"))
		if err := b.Flush(t.Context()); err == nil || b.Lost() != 1 {
			t.Errorf("%v, %d lost", err, b.Lost())
		}
	})
}

func TestABatchCostsOneReadAndOneCommit(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		for i := range maxBatch {
			program := []string{"", "alpha", "beta"}[i%3]
			b.Record(use(by("u", program), "tool", inSession(i),
				at([]string{"2026-02-28T12:00:00Z", "2026-03-01T12:00:00Z"}[i%2])))
		}
		b.flush()
		if d.updates.Load() != 1 || d.gets.Load() != 1 || d.queries.Load() != 0 {
			t.Errorf("%d transactions, %d reads, %d queries", d.updates.Load(), d.gets.Load(), d.queries.Load())
		}
		b.counted("u", maxBatch)
	})
}

func TestProcessesWithOneShardCountEachCallOnce(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		processes, calls := domaintest.Crowd(t, 4, 2), 30
		failed := domaintest.Together(processes, func(p int) error {
			other := newBook(t, b.DB)
			other.Service.NewID = b.IDs.NewID
			for i := range calls {
				other.Record(use(alpha, "tool", inSession(p*calls+i)))
				if i%10 != 9 {
					continue
				}
				if err := domaintest.Retry(t.Context(), func() error { return other.Flush(t.Context()) }); err != nil {
					return err
				}
			}
			return nil
		})
		if len(failed) != 0 {
			t.Error(failed)
		}
		b.counted("u", processes*calls)
	})
}

// The transaction for calls of many tools by many programs on many days stays within limits.
func TestABatchOfDistinctCallsIsWritten(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for i := range maxBatch {
			b.Record(use(by("u", fmt.Sprintf("%s-%d", strings.Repeat("p", 90), i)), strings.Repeat("t", 40), func(u *op.Usage) {
				u.SessionID, u.At = strings.Repeat("ü", 100), domaintest.Start.AddDate(0, 0, -i)
			}))
		}
		b.flush()
		if n := len(b.batches("u")); n != 1 {
			t.Errorf("%d documents", n)
		}
		if total := b.usage(alpha, UsageInput{From: "2025-08-01"}).Total; total.Calls != maxBatch {
			t.Errorf("%+v", total)
		}
	})
}

func TestRunFlushesByTimeAndByNumber(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		calls int
	}{
		"after a while": {time.Millisecond, 1},
		"by number":     {time.Hour, flushAt},
	} {
		t.Run(name, func(t *testing.T) {
			eachFrail(t, func(t *testing.T, b *book, d *frail) {
				d.done = make(chan struct{}, flushAt)
				b.Every = c.every
				b.Failed = func(err error) {
					if !fault.Is(err, fault.Conflict) { // the records wait for the next flush
						t.Error(err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { b.Run(ctx) })
				for i := range c.calls {
					b.Record(use(alpha, "tool", inSession(i)))
				}
				<-d.done
				stop()
				running.Wait()
				b.flush()
				b.counted("u", c.calls)
			})
		})
	}
}

func TestRunReportsAFailedFlush(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		d.then = func(n int64) (error, bool) {
			if n == 1 {
				return errDown, false
			}
			return nil, true
		}
		d.done = make(chan struct{}, 10)
		told := make(chan error, 10)
		b.Every, b.Failed = time.Millisecond, func(err error) { told <- err }
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { b.Run(ctx) })
		b.Record(use(alpha, "tool", inSession(0)))
		if err := <-told; !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
		<-d.done
		stop()
		running.Wait()
		b.counted("u", 1)
	})
}

// A shutdown with a deadline must not wait for a flush that hangs.
func TestAWaitingFlushEndsWithItsContext(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		hung, release := make(chan struct{}), make(chan struct{})
		d.then = func(int64) (error, bool) { close(hung); <-release; return nil, true }
		b.Record(use(alpha, "tool", inSession(0)))
		var flushing sync.WaitGroup
		flushing.Go(func() {
			if err := b.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-hung
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if err := b.Flush(ctx); !fault.Is(err, fault.Unavailable) ||
				!strings.Contains(err.Error(), "1 records wait") {
				t.Fatal(err)
			}
		}
		b.Record(use(alpha, "tool", inSession(1))) // Record does not wait for it either
		close(release)
		flushing.Wait()
		d.then = nil
		b.flush()
		b.counted("u", 2)
	})
}

func BenchmarkRecord(b *testing.B) {
	s := &Service{}
	u := use(alpha, "look", inSession(1))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%maxPending == 0 {
			s.buffer = buffer{}
		}
		s.Record(u)
	}
}
