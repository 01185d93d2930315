package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// next claims the next task and returns its title, empty for none.
func (q *queue) next(c identity.Caller, in NextInput) string {
	q.t.Helper()
	out := domaintest.Must(q.ClaimNext(q.t.Context(), c, in))(q.t)
	if out.Claimed != (out.Task != nil) || out.Claimed != (out.ClaimToken != 0) {
		q.t.Errorf("answered %+v", out)
	}
	if !out.Claimed {
		return ""
	}
	return out.Task.Title
}

func TestTheNextTaskIsTheFirstOfTheCallersQueue(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, in := range []CreateInput{
			{Title: "low", Target: "beta", Priority: task.Low}, {Title: "of-gamma", Target: "gamma", Priority: task.High},
			{Title: "first", Target: "any"}, {Title: "second", Target: "beta"}, {Title: "fallback", Target: "gamma",
				Fallback: []string{"beta"}}, {Title: "high", Target: "beta", Priority: task.High},
			{Title: "dream", Target: "beta", Type: task.Dream, Priority: task.High,
				Dream: &task.DreamSpec{}},
			{Title: "late", Target: "beta", TTL: 1, Priority: task.High}, {Title: "project", Target: "beta", ProjectID: "Parley"},
		} {
			q.create(alpha, in)
			q.Pass(time.Second)
		}
		q.Pass(time.Second)
		if got := q.next(beta, NextInput{ProjectID: "parley"}); got != "project" {
			t.Errorf("of the project it is %q", got)
		}
		for _, want := range []string{"high", "first", "second", "fallback", "low", ""} {
			if got := q.next(beta, NextInput{SessionID: "s", LeaseSeconds: 60}); got != want {
				t.Errorf("the next is %q, want %q", got, want)
			}
		}
		if got := q.next(beta, NextInput{Types: []task.Type{task.Dream}}); got != "dream" {
			t.Errorf("the next dream is %q", got)
		}
		if got := q.next(loose, NextInput{}); got != "" {
			t.Errorf("an unbound key gets %q", got)
		}
	})
}

func TestTheNextTaskIsClaimedAsByItsId(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta", Instructions: "all of it"})
		out := domaintest.Must(q.ClaimNext(t.Context(), beta, NextInput{SessionID: "s1", LeaseSeconds: 60}))(t)
		v := out.Task
		if v.ID != id || v.ClaimedBy != "beta" || v.SessionID != "s1" || v.Instructions != "all of it" ||
			!v.LeaseUntil.Equal(t0.Add(time.Minute)) || out.ClaimToken != 1 {
			t.Errorf("answered %+v", out)
		}
		if got := q.get(id); got.Status != task.Active || got.ClaimedBy != "beta" {
			t.Errorf("the task is %+v", got)
		}
	})
}

func TestAPausedProjectIsPassedOver(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		q.create(alpha, CreateInput{Title: "paused", Target: "beta", ProjectID: "one", Priority: task.High})
		q.create(alpha, CreateInput{Title: "free", Target: "beta", ProjectID: "two"})
		c := beta
		c.Pauses = []identity.Pause{{Scope: identity.PausedProject, Name: "one"}}
		for _, want := range []string{"free", ""} {
			if got := q.next(c, NextInput{}); got != want {
				t.Errorf("the next is %q, want %q", got, want)
			}
		}
	})
}

// waiter is a call that waits for a task.
type waiter struct {
	n    int
	task string
}

// wait starts n calls that wait, one after the other, and returns the channel of their ends.
func (q *queue) wait(ctx context.Context, n int, c identity.Caller) (<-chan waiter, *sync.WaitGroup) {
	q.t.Helper()
	ends, all := make(chan waiter, n), &sync.WaitGroup{}
	for i := range n {
		all.Go(func() {
			out, err := q.ClaimNext(ctx, c, NextInput{WaitMs: 50_000})
			if err != nil {
				q.t.Errorf("waiter %d: %v", i, err)
			}
			w := waiter{n: i}
			if out.Claimed {
				w.task = out.Task.Title
			}
			ends <- w
		})
		q.lines.AwaitPlaces(q.t.Context(), i+1)
	}
	return ends, all
}

func TestThoseWhoWaitAreServedInTheOrderOfTheirArrival(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		const n = 5
		ends, _ := q.wait(t.Context(), n, beta)
		for i := range n {
			q.lines.AwaitIdle(t.Context()) // the first in the line has looked: it waits
			q.create(alpha, CreateInput{Title: fmt.Sprint(i), Target: "beta"})
			if w := <-ends; w.n != i || w.task != fmt.Sprint(i) {
				t.Errorf("task %d woke waiter %d with %q", i, w.n, w.task)
			}
		}
	})
}

func TestManyWaitersTakeManyTasksOnceEach(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		const n = 12
		ends, all := q.wait(t.Context(), n, beta)
		for _, err := range domaintest.Together(n, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				_, err := q.Create(t.Context(), alpha, CreateInput{Title: fmt.Sprint(i), Target: "beta"})
				return err
			})
		}) {
			t.Error(err)
		}
		all.Wait()
		var got []string
		for range n {
			got = append(got, (<-ends).task)
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != n || got[0] == "" {
			t.Errorf("the tasks taken are %v", got)
		}
	})
}

func TestOneTaskForManyWaitersCostsFewRPCs(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	q := over(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan struct{})
	ends, all := q.wait(store.WithEnd(ctx, end), 40, beta)
	q.lines.AwaitIdle(t.Context())
	sent := rpcs.Count(func() {
		id := q.create(alpha, CreateInput{Title: "one", Target: "beta"})
		if w := <-ends; w.n != 0 || w.task != "one" {
			t.Errorf("waiter %d has %q", w.n, w.task)
		}
		q.lines.AwaitIdle(t.Context())
		_ = id
	})
	// One of them is the task's own.
	if sent.Total()-1 > 8 {
		t.Errorf("one task for 40 waiters cost %v", sent)
	}
	close(end)
	all.Wait()
	cancel()
	for range 39 {
		if w := <-ends; w.task != "" {
			t.Errorf("waiter %d has %q", w.n, w.task)
		}
	}
}

func TestACancelledWaiterTakesNoTaskFromTheNext(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		end := make(chan struct{})
		first, _ := q.wait(store.WithEnd(t.Context(), end), 1, beta)
		q.lines.AwaitIdle(t.Context())
		done := make(chan string, 1)
		go func() {
			out, err := q.ClaimNext(t.Context(), beta, NextInput{WaitMs: 50_000})
			if err != nil || !out.Claimed {
				t.Errorf("the second has %+v, %v", out, err)
				done <- ""
				return
			}
			done <- out.Task.Title
		}()
		q.lines.AwaitPlaces(t.Context(), 2)
		close(end)
		if w := <-first; w.task != "" {
			t.Errorf("the cancelled one has %q", w.task)
		}
		q.create(alpha, CreateInput{Title: "one", Target: "beta"})
		if got := <-done; got != "one" {
			t.Errorf("the second has %q", got)
		}
	})
}

func TestATaskWhoseClaimIsNotDeliveredGoesBack(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Title: "one", Target: "beta"})
		catalogue := op.NewCatalogue(q.Operations())
		res := domaintest.Must(catalogue.Call(t.Context(), catalogue.Op("claim_next_task"),
			op.Call{Caller: beta, Input: op.Parse([]byte(`{}`))}))(t)
		if !strings.Contains(string(res.Data), `"claimed":true`) || !res.Consumed() {
			t.Fatalf("answered %s", res.Data)
		}
		domaintest.Check(t, res.Undelivered(t.Context()))
		if v := q.get(id); v.Status != task.Created || v.Attempts != 0 || !strings.Contains(v.Reason, "did not reach") {
			t.Errorf("the task is %+v", v)
		}
		if got := q.next(beta, NextInput{}); got != "one" {
			t.Errorf("the next is %q", got)
		}
	})
}

func TestCallsThatDoNotWaitGetAllTasksOfTheQueue(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		const n = 8
		for i := range n {
			q.create(alpha, CreateInput{Title: fmt.Sprint(i), Target: "beta"})
		}
		for _, err := range domaintest.Together(n, func(i int) error {
			out, err := q.ClaimNext(t.Context(), beta, NextInput{})
			if err == nil && !out.Claimed {
				err = fmt.Errorf("call %d has no task, though there are as many as calls", i)
			}
			return err
		}) {
			t.Error(err)
		}
	})
}
