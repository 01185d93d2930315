package dispatch

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func (q *queue) sweep(limit int) int {
	q.t.Helper()
	n, err := q.SweepLeases(q.t.Context(), store.NewAdmin(q.DB), limit)
	if err != nil {
		q.t.Fatal(err)
	}
	return n
}

func TestASweepQueuesTasksWhoseLeaseRanOut(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		if n := q.sweep(10); n != 0 {
			t.Errorf("handled %d leases that hold", n)
		}
		q.Pass(15*time.Minute - time.Millisecond)
		if n := q.sweep(10); n != 0 || q.get(id).Status != task.Active {
			t.Errorf("handled %d before their end", n)
		}
		q.Pass(time.Millisecond)
		if n := q.sweep(10); n != 1 {
			t.Errorf("handled %d", n)
		}
		v := q.get(id)
		if v.Status != task.Created || v.ClaimedBy != "" || v.Attempts != 1 || !v.StartedAt.IsZero() || !v.LeaseUntil.IsZero() {
			t.Errorf("the task is %+v", v)
		}
		for name, err := range q.acts(beta, id, token) {
			domaintest.Refused(t, name, err, fault.Precondition)
		}
		if n := q.sweep(10); n != 0 {
			t.Errorf("handled %d again", n)
		}
		if out := q.claim(beta, id); out.ClaimToken != token+1 || out.Attempts != 1 {
			t.Errorf("claimed anew: %+v", out)
		}
	})
}

func TestATaskFailsAfterFiveExpiredLeases(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta"})
		for i := range task.MaxAttempts {
			if out := q.claim(beta, id); out.Attempts != i || out.ClaimToken != int64(i+1) {
				t.Fatalf("claim %d: %+v", i, out)
			}
			q.Pass(time.Hour)
			q.sweep(10)
		}
		v := q.get(id)
		if v.Status != task.Failed || v.Attempts != 5 || v.Reason != "the lease ran out 5 times, last with beta" ||
			v.CompletedAt.IsZero() ||
			v.ClaimedBy != "" {
			t.Errorf("the task is %+v", v)
		}
		_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id})
		domaintest.Refused(t, "claim", err, fault.Precondition, "failed")
		if n := q.sweep(10); n != 0 || q.get(id).Status != task.Failed {
			t.Errorf("swept %d again", n)
		}
	})
}

// The limit also holds without a sweep: a claim after the fifth expired lease is refused.
func TestATaskIsNotClaimedASixthTime(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta"})
		for range task.MaxAttempts {
			q.claim(beta, id)
			q.Pass(time.Hour)
		}
		_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id})
		domaintest.Refused(t, "a sixth claim", err, fault.Precondition)
		if q.sweep(10); q.get(id).Status != task.Failed {
			t.Errorf("the task is %+v", q.get(id))
		}
	})
}

func TestASweepIsBoundedAndContinues(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for range 5 {
			q.claimed()
		}
		other := identity.Caller{User: "v", Program: "beta", KeyID: "kv"}
		out, err := q.Create(t.Context(), other, CreateInput{Title: "of v", Target: "beta"})
		if err != nil {
			t.Fatal(err)
		}
		q.claim(other, out.TaskID)
		q.Pass(time.Hour)
		for i, want := range []int{4, 2, 0} {
			if n := q.sweep(4); n != want {
				t.Errorf("run %d handled %d, want %d", i, n, want)
			}
		}
		if v, err := q.Get(t.Context(), other, TaskInput{TaskID: out.TaskID}); err != nil || v.Status != task.Created {
			t.Errorf("the other user's is %+v, %v", v, err)
		}
	})
}

// listed is a driver that calls then after a query over all users.
type listed struct {
	store.Driver
	then func()
}

func (d *listed) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	raws, err := d.Driver.Query(ctx, p)
	if p.User == "" && d.then != nil {
		d.then()
	}
	return raws, err
}

// onListed returns a queue on such a driver.
func onListed(t *testing.T) (*queue, *listed) {
	t.Helper()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *listed { return &listed{Driver: inner} })
	return over(t, db), d
}

func TestATaskRenewedDuringASweepStaysClaimed(t *testing.T) {
	t.Parallel()
	q, d := onListed(t)
	db := q.DB
	renewed, token := q.claimed()
	done, doneToken := q.claimed()
	orphan, _ := q.claimed()
	d.then = func() { // their holder renews in time by the clock of another process
		s := &Service{DB: db, NewID: q.IDs.NewID, Now: func() time.Time { return t0.Add(14 * time.Minute) }}
		_, err := s.Renew(t.Context(), beta, RenewInput{TaskID: renewed, ClaimToken: token, LeaseSeconds: 86_400})
		if err != nil {
			t.Error(err)
		}
		_, err = s.Complete(t.Context(), beta, CompleteInput{TaskID: done, ClaimToken: doneToken, Outcome: task.Done})
		if err != nil {
			t.Error(err)
		}
	}
	q.Pass(time.Hour)
	if n := q.sweep(10); n != 3 {
		t.Errorf("the sweep saw %d", n)
	}
	v := q.get(renewed)
	if v.Status != task.Active || v.ClaimedBy != "beta" || v.Attempts != 0 || !v.LeaseUntil.After(q.Clock.Now()) {
		t.Errorf("what was renewed is %+v", v)
	}
	if v := q.get(done); v.Status != task.Done || v.Attempts != 0 {
		t.Errorf("what was done is %+v", v)
	}
	if v := q.get(orphan); v.Status != task.Created {
		t.Errorf("what nobody renewed is %+v", v)
	}
}

func TestASweepDeletesALeaseWithoutATask(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, _ := q.claimed()
		err := q.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			task.Tasks.Delete(tx, id)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Hour)
		if n := q.sweep(10); n != 1 {
			t.Errorf("handled %d", n)
		}
		if n := q.sweep(10); n != 0 {
			t.Errorf("%d left", n)
		}
	})
}

// The lifecycle has no way back to the queue for a dream: it must not run twice.
func TestADreamWithAnExpiredLeaseIsNotClaimedAgain(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "any", Type: task.Dream})
		q.claim(beta, id)
		q.Pass(time.Hour)
		_, err := q.Claim(t.Context(), gamma, ClaimInput{TaskID: id})
		domaintest.Refused(t, "a second claim", err, fault.Precondition)
		q.sweep(10)
		if v := q.get(id); v.Status == task.Created || (v.Status == task.Active && v.ClaimedBy != "beta") {
			t.Errorf("the dream is %+v", v)
		}
		_, err = q.Claim(t.Context(), gamma, ClaimInput{TaskID: id})
		domaintest.Refused(t, "a claim after the sweep", err, fault.Precondition)
	})
}
