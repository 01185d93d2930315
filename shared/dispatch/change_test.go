package dispatch

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

func TestAnUpdateFollowsTheLifecycle(t *testing.T) {
	t.Parallel()
	person := identity.Caller{User: "u", KeyID: "human", Kind: identity.Human}
	held := func(s task.Status) task.Task {
		return task.Task{
			Type:       task.Work,
			Source:     "alpha",
			Target:     "beta",
			Status:     s,
			ClaimedBy:  "beta",
			ClaimToken: 3,
			Attempts:   2,
		}
	}
	free := func(s task.Status) task.Task {
		return task.Task{
			Type:     task.Work,
			Source:   "alpha",
			Target:   "beta",
			Status:   s,
			Attempts: 5,
			Reason:   "why",
			Outcome:  task.Failed,
		}
	}
	of := func(typ task.Type) task.Task {
		return task.Task{Type: typ, Source: "alpha", Target: "user", Status: task.Created}
	}
	for name, c := range map[string]struct {
		task  task.Task
		by    identity.Caller
		to    task.Status
		token int64
		free  bool
		fault fault.Kind
	}{
		"its holder blocks it":              {task: held(task.Active), by: beta, to: task.Blocked},
		"its holder goes on":                {task: held(task.Blocked), by: beta, to: task.Active},
		"its holder is about to end it":     {task: held(task.Active), by: beta, to: task.Completing},
		"its holder ends it":                {task: held(task.Completing), by: beta, to: task.Done, free: true},
		"its holder fails it":               {task: held(task.Active), by: beta, to: task.Failed, free: true},
		"its holder gives it back":          {task: held(task.Active), by: beta, to: task.Created, free: true},
		"a token is as good as its program": {task: held(task.Active), by: alpha, to: task.Blocked, token: 3},
		"another's without one": {
			task:  held(task.Active),
			by:    alpha,
			to:    task.Blocked,
			fault: fault.Precondition,
		},
		"with a stale one": {
			task:  held(task.Active),
			by:    beta,
			to:    task.Blocked,
			token: 2,
			fault: fault.Precondition,
		},
		"a loose key without one":            {task: held(task.Active), by: loose, to: task.Blocked, fault: fault.Invalid},
		"a human takes back what is blocked": {task: held(task.Blocked), by: person, to: task.Derezzed, free: true},
		"but not what is worked on":          {task: held(task.Active), by: person, to: task.Created, fault: fault.Invalid},
		"who asked for it cancels it":        {task: free(task.Created), by: alpha, to: task.Derezzed, free: true},
		"who it is for refuses it":           {task: free(task.Created), by: beta, to: task.Failed, free: true},
		"a third keeps off": {
			task:  free(task.Created),
			by:    gamma,
			to:    task.Derezzed,
			fault: fault.Forbidden,
		},
		"a failed one is queued again": {task: free(task.Failed), by: alpha, to: task.Created, free: true},
		"only a claim makes it active": {
			task:  free(task.Created),
			by:    beta,
			to:    task.Active,
			fault: fault.Precondition,
		},
		"nobody holds what is blocked": {
			task:  free(task.Blocked),
			by:    beta,
			to:    task.Active,
			fault: fault.Precondition,
		},
		"what is done stays done": {
			task:  free(task.Done),
			by:    alpha,
			to:    task.Created,
			fault: fault.Precondition,
		},
		"done is filed away":                      {task: free(task.Done), by: alpha, to: task.Derezzed, free: true},
		"a question is withdrawn by who asked it": {task: of(task.Question), by: alpha, to: task.Derezzed, free: true},
		"and not answered so": {
			task:  of(task.Question),
			by:    person,
			to:    task.Done,
			fault: fault.Precondition,
		},
		"an alert is seen":       {task: of(task.Alert), by: person, to: task.Done, free: true},
		"another's alert is not": {task: of(task.Alert), by: beta, to: task.Done, fault: fault.Forbidden},
		"a story has tools of its own": {
			task:  of(task.Story),
			by:    alpha,
			to:    task.Derezzed,
			fault: fault.Precondition,
		},
		"a sprint has too": {
			task:  of(task.Sprint),
			by:    alpha,
			to:    task.Derezzed,
			fault: fault.Precondition,
		},
	} {
		before := c.task
		free, err := change(&c.task, c.by, UpdateInput{Status: c.to, ClaimToken: c.token, Note: "n"}, t0)
		if c.fault != fault.Internal {
			if !fault.Is(err, c.fault) || c.task.Status != before.Status {
				t.Errorf("%s: %v, now %s", name, err, c.task.Status)
			}
			continue
		}
		if err != nil || c.task.Status != c.to || free != c.free || c.task.Note != "n" || !c.task.NotedAt.Equal(t0) {
			t.Errorf("%s: free %v, %v; %+v", name, free, err, c.task)
		}
		if ended := c.to.Ended(); ended != !c.task.PurgeAt.IsZero() || ended == c.task.CompletedAt.IsZero() {
			t.Errorf("%s: completed %v, purged %v", name, c.task.CompletedAt, c.task.PurgeAt)
		}
		if c.to == task.Created &&
			(c.task.ClaimedBy != "" || before.Status == task.Failed &&
				(c.task.Attempts != 0 || c.task.Reason != "" || c.task.Outcome != "")) {
			t.Errorf("%s: %+v", name, c.task)
		}
	}
}

func TestAnUpdateIsStored(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		q.Pass(time.Minute)
		v, err := q.Update(t.Context(), beta, UpdateInput{TaskID: id, Status: task.Blocked, Note: "no disk"})
		if err != nil || v.Status != task.Blocked || v.Note != "no disk" || !v.NotedAt.Equal(t0.Add(time.Minute)) {
			t.Fatalf("%+v, %v", v, err)
		}
		if got := q.get(id); got.Status != task.Blocked || got.Note != "no disk" || got.ClaimedBy != "beta" {
			t.Errorf("%+v", got)
		}
		// A blocked task keeps its holder and its lease.
		if _, err := q.Renew(t.Context(), beta, RenewInput{TaskID: id, ClaimToken: token}); err != nil {
			t.Error(err)
		}
		if _, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id}); !fault.Is(err, fault.Precondition) {
			t.Error(err)
		}
		if _, err := q.Update(t.Context(), beta, UpdateInput{TaskID: id, Note: "found one"}); err != nil {
			t.Error(err)
		}
		if got := q.get(id); got.Status != task.Blocked || got.Note != "found one" {
			t.Errorf("%+v", got)
		}
		q.Pass(16 * time.Minute)
		if n := q.sweep(10); n != 1 || q.get(id).Status != task.Created {
			t.Errorf("swept %d: %+v", n, q.get(id))
		}
		_, err = q.Update(t.Context(), beta, UpdateInput{TaskID: id})
		if domaintest.Fields(err) != "status" {
			t.Error(err)
		}
		_, err = q.Update(t.Context(), beta, UpdateInput{TaskID: "none", Note: "n"})
		domaintest.Refused(t, "a missing task", err, fault.NotFound, `no task with id "none"`)
	})
}

func TestAnUpdateThatEndsATaskEndsItsLease(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		if _, err := q.Update(t.Context(), beta, UpdateInput{TaskID: id, Status: task.Failed, ClaimToken: token}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Update(t.Context(), alpha, UpdateInput{TaskID: id, Status: task.Created}); err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Hour)
		if n := q.sweep(10); n != 0 {
			t.Errorf("%d leases are left", n)
		}
		if out := q.claim(beta, id); out.ClaimToken != token+1 {
			t.Errorf("claimed anew with %d", out.ClaimToken)
		}
	})
}
