package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// taken is a task that a waiting call got.
type taken struct{ by, task string }

// programs lets a call of each of n programs wait, one after the other, until end is closed, and returns the channel of
// their results.
func (q *queue) programs(n int, end <-chan struct{}) (<-chan taken, *sync.WaitGroup) {
	q.t.Helper()
	got, all := make(chan taken, n), &sync.WaitGroup{}
	for i := range n {
		name := fmt.Sprintf("p%03d", i)
		all.Go(func() {
			out, err := q.ClaimNext(store.WithEnd(q.t.Context(), end), domaintest.Bound("u", name), NextInput{WaitMs: 50_000})
			switch {
			case err != nil:
				q.t.Errorf("%s: %v", name, err)
			case out.Claimed:
				got <- taken{name, out.Task.Title}
			}
		})
		q.lines.AwaitPlaces(q.t.Context(), i+1)
	}
	q.lines.AwaitIdle(q.t.Context())
	return got, all
}

func TestATaskForAnyGoesToTheProgramThatCameFirst(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		end := make(chan struct{})
		got, all := q.programs(6, end)
		for i, target := range []string{"any", "any", "p004", "any"} {
			q.create(alpha, CreateInput{Title: fmt.Sprint(i), Target: target})
			want := taken{[]string{"p000", "p001", "p004", "p002"}[i], fmt.Sprint(i)}
			if g := <-got; g != want {
				t.Errorf("got %v, want %v", g, want)
			}
		}
		close(end)
		all.Wait()
		if len(got) > 0 {
			t.Errorf("others have %v", <-got)
		}
	})
}

func TestATaskForAnyCostsOneTryHoweverManyProgramsWait(t *testing.T) {
	t.Parallel()
	db, calls := domaintest.CountCalls(t, schema())
	q, end := over(t, db), make(chan struct{})
	got, all := q.programs(200, end)
	n := calls.Count(func() {
		for range 5 {
			q.create(alpha, CreateInput{Target: "any"})
			<-got
		}
	})
	close(end)
	all.Wait()
	if n != 10 {
		t.Errorf("five tasks for 200 programs cost %d queries and transactions, want one to create each and one to claim it", n)
	}
}

func TestATaskGoesToTheFirstWhoMayTakeIt(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		halted := beta
		halted.Pauses = []identity.Pause{{Scope: identity.PausedProject, Name: "one"}}
		end, got, all := make(chan struct{}), make(chan int, 9), sync.WaitGroup{}
		for i, w := range []struct {
			by identity.Caller
			in NextInput
		}{
			{person, NextInput{}}, {beta, NextInput{Types: []task.Type{task.Dream}}}, {beta, NextInput{ProjectID: "two"}},
			{halted, NextInput{}}, {gamma, NextInput{ProjectID: "ONE"}}, {gamma, NextInput{}},
		} {
			w.in.WaitMs = 50_000
			all.Go(func() {
				out, err := q.ClaimNext(store.WithEnd(t.Context(), end), w.by, w.in)
				if err != nil || out.Claimed {
					t.Log(i, err)
					got <- i
				}
			})
			q.lines.AwaitPlaces(t.Context(), i+1)
		}
		q.lines.AwaitIdle(t.Context())
		q.create(alpha, CreateInput{Target: "beta", Fallback: []string{"gamma"}, ProjectID: "one"})
		if i := <-got; i != 4 {
			t.Errorf("it is the call %d", i)
		}
		close(end)
		all.Wait()
		if len(got) > 0 {
			t.Errorf("the call %d has something too", <-got)
		}
	})
}

func TestWaitersOfTwoServersTakeEachTaskOnceAndWaitOn(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		n := domaintest.Crowd(t, 40, 6)
		end := make(chan struct{})
		here, first := q.programs(n, end)
		there, second := over(t, q.DB).programs(n, end)
		for i := range n {
			q.create(alpha, CreateInput{Title: fmt.Sprintf("%03d", i), Target: "any"})
		}
		var got []string
		for range n {
			select {
			case g := <-here:
				got = append(got, g.task)
			case g := <-there:
				got = append(got, g.task)
			}
		}
		close(end)
		first.Wait()
		second.Wait()
		if slices.Sort(got); len(slices.Compact(got)) != n || len(here)+len(there) > 0 {
			t.Errorf("taken were %v", got)
		}
	})
}

// contended is a store whose transactions contend until so many of them have failed.
type contended struct {
	store.Driver
	left atomic.Int64
	// created is the number of transactions that fail after the next one.
	created atomic.Int64
}

func (c *contended) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	if c.left.Add(-1) >= 0 {
		return fault.New(fault.Conflict, "contention")
	}
	c.left.Store(c.created.Swap(0))
	return c.Driver.Update(ctx, fn)
}

func TestContentionDoesNotChangeTheOrderOfThoseWhoWait(t *testing.T) {
	t.Parallel()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *contended { return &contended{Driver: inner} })
	q := over(t, db)
	ends, _ := q.wait(t.Context(), 3, beta)
	for i := range 3 {
		q.lines.AwaitIdle(t.Context())
		d.created.Store(2)
		q.create(alpha, CreateInput{Title: fmt.Sprint(i), Target: "beta"})
		if w := <-ends; w.n != i || w.task != fmt.Sprint(i) {
			t.Errorf("task %d woke waiter %d with %q", i, w.n, w.task)
		}
	}
}

func TestNobodyIsToldThatOthersWereFaster(t *testing.T) {
	t.Parallel()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *contended { return &contended{Driver: inner} })
	q := over(t, db)
	q.create(alpha, CreateInput{Title: "one", Target: "beta"})
	d.left.Store(1 << 30)
	if got := q.next(beta, NextInput{}); got != "" {
		t.Errorf("one that does not wait has %q", got)
	}
	d.left.Store(maxTries + 2)
	if got := q.next(beta, NextInput{WaitMs: 50_000}); got != "one" {
		t.Errorf("one that waits has %q", got)
	}
	d.left.Store(0)
	q.create(alpha, CreateInput{Title: "two", Target: "beta"})
	ctx, cancel := context.WithCancel(t.Context())
	d.left.Store(1 << 30)
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := q.ClaimNext(ctx, beta, NextInput{WaitMs: 50_000}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("one that has gone: %v", err)
	}
}
