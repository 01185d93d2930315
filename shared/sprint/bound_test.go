package sprint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// counted is a driver that counts its commits. Its queries outside of transactions fail while
// deaf is set.
type counted struct {
	store.Driver
	mu      sync.Mutex
	updates int
	writes  []store.Write
	deaf    bool
	then    func() // runs once, after the next query outside of a transaction
}

func (d *counted) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.mu.Lock()
	deaf, then := d.deaf, d.then
	d.then = nil
	d.mu.Unlock()
	if deaf {
		return nil, errors.New("no answer")
	}
	raws, err := d.Driver.Query(ctx, p)
	if then != nil {
		then()
	}
	return raws, err
}

// meanwhile runs a function once, after the next query outside of a transaction.
func (d *counted) meanwhile(then func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.then = then
}

func (d *counted) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	var last []store.Write
	err := d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) (w []store.Write, err error) {
		w, err = fn(ctx, r)
		last = w
		return w, err
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updates++
	if err == nil {
		d.writes = append(d.writes, last...)
	}
	return err
}

// to returns the number of committed writes of a task.
func (d *counted) to(id string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.writes {
		if w.Ref.Coll == "tasks" && w.Ref.ID == id {
			n++
		}
	}
	return n
}

// eachCounted runs a test over counting drivers of both stores.
func eachCounted(t *testing.T, test func(*testing.T, *yard, *counted)) {
	t.Helper()
	count := func(inner store.Driver) *counted { return &counted{Driver: inner} }
	domaintest.EachOver(t, schema(), count, func(t *testing.T, db *store.DB, d *counted) { test(t, over(t, db), d) })
}

// large returns a plan of n stories, each waiting for the one before it in its wave.
func large(n int) []Planned {
	var plan []Planned
	for i := range n {
		s := story(fmt.Sprintf("s%03d %d", i, i/50))
		if i%50 > 0 {
			s.Dependencies = []string{fmt.Sprintf("s%03d", i-1)}
		}
		plan = append(plan, s)
	}
	return plan
}

func TestASprintOf200StoriesIsOneCommit(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		id := y.plan(large(200))
		if d.updates != 1 || len(d.writes) != 201 {
			t.Errorf("%d writes in %d transactions", len(d.writes), d.updates)
		}
		if v := y.get(id); v.Counts.Queued != 200 || len(v.Waves) != 4 || !slices.Equal(v.Ready, []string{"s000"}) ||
			len(v.Waves[3].Stories) != 50 {
			t.Errorf("%+v, ready %v", v.Counts, v.Ready)
		}
	})
}

// A report writes only its story; the sprint is written at its beginning and its end.
func TestReportsOfStoriesDoNotWriteTheSprint(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		id := y.plan(stories("a 1,b 1 a,c 2"))
		for i, s := range []string{"a", "b", "c"} {
			if n := d.to(id); n != 1 {
				t.Errorf("before %s: %d writes", s, n)
			}
			y.do(beta, id, s, "active", "complete")
			// created, taken up, ended; the counter of b was decremented too
			if n := d.to(docID(id, s)); n != 3 && (i != 1 || n != 4) {
				t.Errorf("%s: %d writes", s, n)
			}
		}
		if n := d.to(id); n != 2 || y.kept(id).Status != task.Completing {
			t.Errorf("%d writes, %s", n, y.kept(id).Status)
		}
		beats := len(d.writes)
		other := y.plan(stories("a 1"))
		y.do(beta, other, "a", "active", "active", "active")
		if n := d.to(docID(other, "a")); n != 2 || len(d.writes)-beats != 2+2+1+1 {
			t.Errorf("two beats wrote the story %d times, %d documents in all", n, len(d.writes)-beats)
		}
	})
}

func TestTheLastReportSucceedsEvenIfTheSprintCannotBeUpdated(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		id := y.plan(stories("a 1"))
		y.do(beta, id, "a", "active")
		d.mu.Lock()
		d.deaf = true
		d.mu.Unlock()
		if out := y.do(beta, id, "a", "complete"); out.Story.Status != "complete" || out.Sprint != "" {
			t.Errorf("%+v", out)
		}
		d.mu.Lock()
		d.deaf = false
		d.mu.Unlock()
		if s := y.kept(id).Status; s != task.Active {
			t.Errorf("the sprint is %s", s)
		}
		y.draws(id, "completing ready: | 1 a=complete")
	})
}

// Reads outside of a transaction are hints: the transaction checks the state at its commit.
func TestChangesBetweenTheReadAndTheTransactionCount(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		id := y.plan(stories("a 1"))
		y.change(docID(id, "a"), func(v *task.Task) { end(v, task.Failed, y.Clock.Now()) })
		d.meanwhile(func() { y.do(alpha, id, "a", "queued") })
		if err := y.StoryEnded(t.Context(), "u", id); err != nil || y.kept(id).Status != task.Active {
			t.Errorf("a sprint with a story that is queued again is %s, %v", y.kept(id).Status, err)
		}
		y.draws(id, "active ready:a | 1* a=queued")

		d.meanwhile(func() {
			if _, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id}); err != nil {
				t.Error(err)
			}
		})
		_, err := y.add(alpha, id, "x", "")
		domaintest.Refused(t, "added to what was completed", err, fault.Precondition, "takes no more stories")

		raced := y.plan(stories("a 1"))
		d.meanwhile(func() { y.do(beta, raced, "a", "active") })
		_, err = y.tell(gamma, raced, "a", "active")
		domaintest.Refused(t, "taken up by another", err, fault.Precondition, `held by "beta"`)
	})
}
