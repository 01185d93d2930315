package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

type sweepFunc func(context.Context, *store.Admin, int) (int, error)

// all runs a sweep in steps of two until none is left.
func (q *queue) all(sweep sweepFunc) int {
	q.t.Helper()
	total := 0
	for {
		n, err := sweep(q.t.Context(), store.NewAdmin(q.DB), 2)
		if err != nil {
			q.t.Fatal(err)
		}
		if total += n; n < 2 {
			return total
		}
	}
}

func TestExpiredTasksAreEnded(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		var due []string
		for range 5 {
			due = append(due, q.create(alpha, CreateInput{Target: "beta", TTL: 60}))
		}
		later := q.create(alpha, CreateInput{Target: "beta", TTL: 61})
		taken := q.create(alpha, CreateInput{Target: "beta", TTL: 60})
		forever := q.create(alpha, CreateInput{Target: "beta"})
		q.claim(beta, taken)
		dream := q.create(alpha, CreateInput{Target: "beta", TTL: 60, Type: task.Dream})
		q.Pass(59 * time.Second)
		if n := q.all(q.SweepExpired); n != 0 {
			t.Errorf("ended %d before their time", n)
		}
		q.Pass(time.Second)
		if n := q.all(q.SweepExpired); n != 6 {
			t.Errorf("ended %d", n)
		}
		for _, id := range append(due, dream) {
			if v := q.get(id); v.Status != task.Derezzed || v.Reason != "expired" || !v.CompletedAt.Equal(t0.Add(time.Minute)) {
				t.Errorf("%+v", v)
			}
		}
		for id, want := range map[string]task.Status{later: task.Created, taken: task.Active, forever: task.Created} {
			if v := q.get(id); v.Status != want {
				t.Errorf("%s is %s", id, v.Status)
			}
		}
	})
}

func TestEndedTasksAreKeptForThirtyDays(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		var old []string
		for range 5 {
			id, token := q.claimed()
			if _, err := q.Complete(t.Context(), beta, CompleteInput{TaskID: id, ClaimToken: token}); err != nil {
				t.Fatal(err)
			}
			old = append(old, id)
		}
		live := q.create(alpha, CreateInput{Target: "beta"})
		q.Pass(task.Retention - time.Second)
		if n := q.all(q.SweepEnded); n != 0 {
			t.Errorf("deleted %d too early", n)
		}
		id, token := q.claimed()
		if _, err := q.Complete(t.Context(), beta, CompleteInput{TaskID: id, ClaimToken: token}); err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Second)
		if n := q.all(q.SweepEnded); n != 5 {
			t.Errorf("deleted %d", n)
		}
		for _, gone := range old {
			if _, err := q.Get(t.Context(), alpha, TaskInput{TaskID: gone}); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", gone, err)
			}
		}
		if q.get(live).Status != task.Created || q.get(id).Status != task.Done {
			t.Error("what lives or ended lately is gone")
		}
	})
}

func TestATaskClaimedDuringASweepSurvives(t *testing.T) {
	t.Parallel()
	q, d := onListed(t)
	id := q.create(alpha, CreateInput{Target: "beta", TTL: 60})
	d.then = func() { // in time by the clock of another process
		s := &Service{DB: q.DB, NewID: q.IDs.NewID, Now: func() time.Time { return t0 }}
		if _, err := s.Claim(t.Context(), beta, ClaimInput{TaskID: id}); err != nil {
			t.Error(err)
		}
	}
	q.Pass(time.Minute)
	if n, err := q.SweepExpired(t.Context(), store.NewAdmin(q.DB), 10); n != 1 || err != nil || q.get(id).Status != task.Active {
		t.Errorf("%+v, %d, %v", q.get(id), n, err)
	}
}

func TestATaskQueuedAgainDuringASweepSurvives(t *testing.T) {
	t.Parallel()
	q, d := onListed(t)
	id, token := q.claimed()
	if _, err := q.Complete(t.Context(), beta, CompleteInput{TaskID: id, ClaimToken: token, Outcome: task.Failed}); err != nil {
		t.Fatal(err)
	}
	q.Pass(task.Retention)
	d.then = func() {
		if _, err := q.Update(t.Context(), alpha, UpdateInput{TaskID: id, Status: task.Created}); err != nil {
			t.Error(err)
		}
	}
	if n, err := q.SweepEnded(t.Context(), store.NewAdmin(q.DB), 10); n != 1 || err != nil || q.get(id).Status != task.Created {
		t.Errorf("%+v, %d, %v", q.get(id), n, err)
	}
}

// sprints implements Stories and fails once.
type sprints struct {
	got  []string
	fail bool
}

func (s *sprints) StoryEnded(_ context.Context, user, sprint string) error {
	if s.fail {
		s.fail = false
		return errors.New("not now")
	}
	s.got = append(s.got, user+"/"+sprint)
	return nil
}

func TestTheSprintIsCalledForAStoryThatFailsWithItsLastLease(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		told := &sprints{}
		q.Stories = told
		story := func(attempts int) task.Task {
			return task.Task{
				Type:       task.Story,
				Status:     task.Active,
				Target:     "alpha",
				ClaimedBy:  "beta",
				ClaimToken: 1,
				Attempts:   attempts,
				CreatedAt:  t0,
				Sprint:     &task.SprintPart{ParentID: "s", StoryID: fmt.Sprint(attempts)},
			}
		}
		q.put("young", story(0))
		q.put("old", story(task.MaxAttempts-1))
		err := q.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for _, id := range []string{"young", "old"} {
				task.Leases.Put(tx, id, task.Lease{ClaimToken: 1, ClaimedBy: "beta", LeaseUntil: t0})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := q.sweep(10); n != 2 || len(told.got) != 1 || told.got[0] != "u/s" {
			t.Errorf("swept %d, told %v", n, told.got)
		}
		for id, want := range map[string]task.Status{"young": task.Created, "old": task.Failed} {
			kept, err := task.Tasks.Get(t.Context(), q.DB.User("u"), id)
			if err != nil || kept.Status != want || kept.Sprint.Ended != (want == task.Failed) || !kept.PurgeAt.IsZero() {
				t.Errorf("%s: %+v, %v", id, kept, err)
			}
		}
	})
}

func TestTheClaimsOfASessionAreReclaimed(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		mine, other := q.create(alpha, CreateInput{Target: "beta", Title: "mine"}), q.create(alpha, CreateInput{Target: "beta"})
		for id, session := range map[string]string{mine: "s1", other: "s2"} {
			if _, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id, SessionID: session}); err != nil {
				t.Fatal(err)
			}
		}
		q.Pass(time.Minute)
		held, next, err := q.Claims(t.Context(), "u", "s1", "")
		if err != nil || next != "" || len(held) != 1 || held[0].ID != mine || held[0].Task.Title != "mine" ||
			held[0].Task.Source != "alpha" {
			t.Fatalf("%+v, %v", held, err)
		}
		for range 2 { // the second call changes nothing
			if err := q.Reclaim(t.Context(), "u", mine, "s1", q.Clock.Now(), "it is gone"); err != nil {
				t.Fatal(err)
			}
			if v := q.get(mine); v.Status != task.Created || v.Attempts != 1 || v.ClaimedBy != "" || v.Reason != "it is gone" {
				t.Errorf("%+v", v)
			}
		}
		if err := q.Reclaim(t.Context(), "u", other, "s1", q.Clock.Now(), ""); err != nil || q.get(other).Status != task.Active {
			t.Errorf("another session's: %+v, %v", q.get(other), err)
		}
		if held, _, err := q.Claims(t.Context(), "u", "s1", ""); err != nil || len(held) != 0 {
			t.Errorf("left: %+v, %v", held, err)
		}
		// The session is revived and claims again.
		gone := q.Clock.Now()
		if _, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: mine, SessionID: "s1"}); err != nil {
			t.Fatal(err)
		}
		if err := q.Reclaim(t.Context(), "u", mine, "s1", gone, "it is gone"); err != nil || q.get(mine).Status != task.Active {
			t.Errorf("what it claimed since is %+v, %v", q.get(mine), err)
		}
	})
}

func TestAClaimAfterTheLastLeaseEndsTheTask(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta"})
		for range task.MaxAttempts {
			q.claim(beta, id)
			q.Pass(time.Hour)
		}
		_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id})
		domaintest.Refused(t, "a sixth claim", err, fault.Precondition, "failed")
		if v := q.get(id); v.Status != task.Failed || v.Attempts != task.MaxAttempts {
			t.Errorf("%+v", v)
		}
		if n := q.sweep(10); n != 0 {
			t.Errorf("%d leases are left", n)
		}
	})
}
