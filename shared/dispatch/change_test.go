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
	const no, unmet, derezzed = fault.Forbidden, fault.Precondition, task.Derezzed
	held := func(s task.Status) task.Task {
		return task.Task{Type: task.Work, Source: "alpha", Maker: alpha.Owner(), Target: "beta", Status: s, ClaimedBy: "beta",
			SessionID: "beta.1", ClaimToken: 3, Attempts: 2}
	}
	free := func(s task.Status) task.Task {
		return task.Task{Type: task.Work, Source: "alpha", Maker: alpha.Owner(), Target: "beta", Status: s, Attempts: 5,
			Reason: "why", Outcome: task.Failed}
	}
	ended := func(s task.Status) task.Task {
		t := held(s)
		t.End(s, t0)
		return t
	}
	active, gone := held(task.Active), held(task.Derezzed)
	gone.CancelledBy = "alpha"
	of := func(typ task.Type) task.Task {
		return task.Task{Type: typ, Source: "alpha", Maker: alpha.Owner(), Target: "user", Status: task.Created}
	}
	older := task.Task{Type: task.Work, Source: "alpha", Verified: true, Target: "beta", Status: task.Created}
	unknown := task.Task{Type: task.Work, Source: "alpha", Target: "beta", Status: task.Created}
	for name, c := range map[string]struct {
		task    task.Task
		by      identity.Caller
		to      task.Status
		token   int64
		session string
		free    bool
		fault   fault.Kind
	}{
		"its holder blocks it":            {task: active, by: beta, to: task.Blocked, token: 3},
		"its holder goes on":              {task: held(task.Blocked), by: beta, to: task.Active, token: 3},
		"its holder is about to end it":   {task: active, by: beta, to: task.Completing, token: 3},
		"its holder ends it":              {task: held(task.Completing), by: beta, to: task.Done, token: 3, free: true},
		"its holder fails it":             {task: active, by: beta, to: task.Failed, token: 3, free: true},
		"its holder gives it back":        {task: active, by: beta, to: task.Created, token: 3, free: true},
		"its holder is named by session":  {task: active, by: beta, to: task.Blocked, session: "beta.1"},
		"a review asks for changes":       {task: held(task.Completing), by: person, to: task.Active},
		"its holder must name its claim":  {task: active, by: beta, to: task.Blocked, fault: unmet},
		"a token is no permission":        {task: active, by: alpha, to: task.Blocked, token: 3, fault: no},
		"nor for an unbound key":          {task: active, by: loose, to: task.Blocked, token: 3, fault: no},
		"another's without one":           {task: active, by: alpha, to: task.Blocked, fault: no},
		"with a stale one":                {task: active, by: beta, to: task.Blocked, token: 2, fault: unmet},
		"an earlier session's":            {task: active, by: beta, to: task.Blocked, session: "beta.0", fault: unmet},
		"a human cancels what is blocked": {task: held(task.Blocked), by: person, to: derezzed, free: true},
		"a human takes back what is held": {task: active, by: person, to: task.Created, free: true},

		"its creator cancels it":                        {task: free(task.Created), by: alpha, to: derezzed, free: true},
		"its creator cancels running work":              {task: active, by: alpha, to: derezzed, free: true},
		"and what is about to end":                      {task: held(task.Completing), by: alpha, to: derezzed, free: true},
		"its holder does not cancel it":                 {task: active, by: beta, to: derezzed, token: 3, fault: no},
		"nor does its target":                           {task: free(task.Created), by: beta, to: derezzed, fault: no},
		"nor does a third":                              {task: free(task.Created), by: gamma, to: derezzed, fault: no},
		"nor does an unbound key":                       {task: free(task.Created), by: loose, to: derezzed, fault: no},
		"its target refuses it":                         {task: free(task.Created), by: beta, to: task.Failed, free: true},
		"a third does not":                              {task: free(task.Created), by: gamma, to: task.Failed, fault: no},
		"an older one is its source's":                  {task: older, by: alpha, to: derezzed, free: true},
		"an older one's source is verified":             {task: unknown, by: alpha, to: derezzed, fault: no},
		"an unverified older one is a human's":          {task: unknown, by: person, to: derezzed, free: true},
		"a failed one is queued again":                  {task: free(task.Failed), by: alpha, to: task.Created, free: true},
		"by its holder too":                             {task: ended(task.Failed), by: beta, to: task.Created, free: true},
		"not by a third":                                {task: ended(task.Failed), by: gamma, to: task.Created, fault: no},
		"its holder does not revive what was cancelled": {task: gone, by: beta, to: task.Active, token: 3, fault: unmet},

		"only a claim makes it active": {task: free(task.Created), by: beta, to: task.Active, fault: unmet},
		"nobody holds what is blocked": {task: free(task.Blocked), by: beta, to: task.Active, fault: unmet},
		"what is done stays done":      {task: free(task.Done), by: alpha, to: task.Created, fault: unmet},
		"done is filed away":           {task: free(task.Done), by: alpha, to: derezzed, free: true},
		"by its creator alone":         {task: ended(task.Done), by: beta, to: derezzed, fault: no},

		"a question is withdrawn by its asker": {task: of(task.Question), by: alpha, to: derezzed, free: true},
		"and not by another":                   {task: of(task.Question), by: beta, to: derezzed, fault: no},
		"and not answered so":                  {task: of(task.Question), by: person, to: task.Done, fault: unmet},
		"an alert is seen":                     {task: of(task.Alert), by: person, to: task.Done, free: true},
		"another's alert is not":               {task: of(task.Alert), by: beta, to: task.Done, fault: no},
		"a story has tools of its own":         {task: of(task.Story), by: alpha, to: derezzed, fault: unmet},
		"a sprint has too":                     {task: of(task.Sprint), by: alpha, to: derezzed, fault: unmet},
	} {
		before := c.task
		in := UpdateInput{Status: c.to, ClaimToken: c.token, SessionID: c.session, Note: "n"}
		free, err := change(&c.task, c.by, in, t0)
		if c.fault != fault.Internal {
			if !fault.Is(err, c.fault) || c.task.Status != before.Status {
				t.Errorf("%s: %v, now %s", name, err, c.task.Status)
			}
			continue
		}
		if err != nil || c.task.Status != c.to || free != c.free || c.task.Note != "n" || !c.task.NotedAt.Equal(t0) {
			t.Errorf("%s: free %v, %v; %+v", name, free, err, c.task)
		}
		cancelled, by := c.to == task.Derezzed && !before.Status.Ended(), ""
		if cancelled {
			by = c.by.Actor()
		}
		if c.task.CancelledBy != by {
			t.Errorf("%s: cancelled by %q, want %q", name, c.task.CancelledBy, by)
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

func TestOnlyWhatNobodyHasClaimedIsMovedAndOnlyByItsCreator(t *testing.T) {
	t.Parallel()
	of := func(typ task.Type, s task.Status) task.Task {
		return task.Task{Type: typ, Source: "alpha", Maker: alpha.Owner(), Target: "beta", Status: s, Priority: task.Normal}
	}
	claimed := of(task.Work, task.Active)
	claimed.ClaimedBy = "beta"
	waiting := of(task.Work, task.Created)
	for name, c := range map[string]struct {
		task  task.Task
		by    identity.Caller
		to    task.Status
		fault fault.Kind
	}{
		"its creator":                        {task: waiting, by: alpha},
		"a human":                            {task: waiting, by: person},
		"with the status that it has":        {task: waiting, by: alpha, to: task.Created},
		"a dream":                            {task: of(task.Dream, task.Created), by: alpha},
		"not one that may claim it":          {task: waiting, by: beta, fault: fault.Forbidden},
		"nor a third":                        {task: waiting, by: gamma, fault: fault.Forbidden},
		"nor an unbound key":                 {task: waiting, by: loose, fault: fault.Forbidden},
		"what is claimed stays":              {task: claimed, by: person, fault: fault.Precondition},
		"what is blocked stays":              {task: of(task.Work, task.Blocked), by: alpha, fault: fault.Precondition},
		"what has failed stays":              {task: of(task.Work, task.Failed), by: alpha, fault: fault.Precondition},
		"also while it is queued again":      {task: of(task.Work, task.Failed), by: alpha, to: task.Created, fault: fault.Precondition},
		"what is done stays":                 {task: of(task.Work, task.Done), by: alpha, fault: fault.Precondition},
		"not with an end":                    {task: waiting, by: alpha, to: task.Failed, fault: fault.Invalid},
		"a question waits for its person":    {task: of(task.Question, task.Created), by: alpha, fault: fault.Precondition},
		"an alert waits for its person":      {task: of(task.Alert, task.Created), by: person, fault: fault.Precondition},
		"a story is changed with its sprint": {task: of(task.Story, task.Created), by: person, fault: fault.Precondition},
	} {
		_, err := change(&c.task, c.by, UpdateInput{Status: c.to, Priority: task.High, Target: "gamma"}, t0)
		if c.fault != fault.Internal {
			if !fault.Is(err, c.fault) || c.task.Target != "beta" || c.task.Priority != task.Normal {
				t.Errorf("%s: %v; for %s, %s", name, err, c.task.Target, c.task.Priority)
			}
			continue
		}
		if err != nil || c.task.Target != "gamma" || c.task.Rank != task.High.Rank() || c.task.Status != task.Created {
			t.Errorf("%s: %v; %+v", name, err, c.task)
		}
	}
}

func TestAMovedTaskIsInItsNewQueueAlone(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		first := q.create(alpha, CreateInput{Title: "first", Target: "beta", Priority: task.Normal})
		q.create(alpha, CreateInput{Title: "second", Target: "gamma", Priority: task.Normal})
		move := func(c identity.Caller, in UpdateInput) View {
			t.Helper()
			in.TaskID = first
			return domaintest.Must(q.Update(t.Context(), c, in))(t)
		}
		if v := move(person, UpdateInput{Target: "gamma"}); v.Target != "gamma" || v.Priority != task.Normal {
			t.Errorf("%+v", v)
		}
		if got := q.list(beta, ListInput{Limit: 10, Status: task.Created}); got != "" {
			t.Errorf("beta still has %s", got)
		}
		move(alpha, UpdateInput{Priority: task.Low})
		if got := q.list(gamma, ListInput{Limit: 10, Status: task.Created}); got != "second first" {
			t.Errorf("gamma has %q", got)
		}
		if _, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: first}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("beta claims it: %v", err)
		}
		q.claim(gamma, first)
		_, err := q.Update(t.Context(), person, UpdateInput{TaskID: first, Target: "beta"})
		domaintest.Refused(t, "what is claimed", err, fault.Precondition, "can be changed while it is created")
	})
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
