package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// The states of a task for anybody, with the last claim of beta where there was one.
var claimStates = []struct {
	name string
	make func(q *queue, id string)
}{
	{"created", func(*queue, string) {}},
	{"active", func(q *queue, id string) { q.claim(beta, id) }},
	{"blocked", func(q *queue, id string) { q.claim(beta, id); q.set(beta, id, task.Blocked) }},
	{"completing", func(q *queue, id string) { q.claim(beta, id); q.set(beta, id, task.Completing) }},
	{"lapsed", func(q *queue, id string) { q.claim(beta, id); q.Pass(time.Hour) }},
	{"done", func(q *queue, id string) { q.claim(beta, id); q.end(id, task.Done) }},
	{"failed", func(q *queue, id string) { q.claim(beta, id); q.end(id, task.Failed) }},
	{"cancelled", func(q *queue, id string) { q.claim(beta, id); q.set(alpha, id, task.Derezzed) }},
}

// The events. Those of beta name its claim, whose token is 1.
var claimEvents = []struct {
	name string
	do   func(q *queue, ctx context.Context, id string) error
}{
	{"claim by another", func(q *queue, ctx context.Context, id string) error {
		return domaintest.Err(q.Claim(ctx, gamma, ClaimInput{TaskID: id}))
	}},
	{"claim by its holder", func(q *queue, ctx context.Context, id string) error {
		return domaintest.Err(q.Claim(ctx, beta, ClaimInput{TaskID: id}))
	}},
	{"renewal", func(q *queue, ctx context.Context, id string) error {
		return domaintest.Err(q.Renew(ctx, beta, RenewInput{TaskID: id, ClaimToken: 1}))
	}},
	{"release", func(q *queue, ctx context.Context, id string) error {
		return domaintest.Err(q.Release(ctx, beta, ReleaseInput{TaskID: id, ClaimToken: 1}))
	}},
	{"completion", func(q *queue, ctx context.Context, id string) error {
		return domaintest.Err(q.Complete(ctx, beta, CompleteInput{TaskID: id, ClaimToken: 1, Result: "late"}))
	}},
	{"sweep", func(q *queue, ctx context.Context, _ string) error {
		return domaintest.Err(q.SweepLeases(ctx, store.NewAdmin(q.DB), 100))
	}},
}

// claimTable has a row for each state, and the outcome of each event in the order above: the status, who holds the task
// and the token of its last claim, or "refused" where nothing is changed.
var claimTable = map[string][]string{
	"created":    {"active gamma 1", "active beta 1", "refused", "refused", "refused", "created - 0"},
	"active":     {"refused", "refused", "active beta 1", "created - 1", "done beta 1", "active beta 1"},
	"blocked":    {"refused", "refused", "blocked beta 1", "created - 1", "refused", "blocked beta 1"},
	"completing": {"refused", "refused", "completing beta 1", "created - 1", "done beta 1", "completing beta 1"},
	"lapsed":     {"active gamma 2", "active beta 2", "refused", "created - 1", "done beta 1", "created - 1"},
	"done":       {"refused", "refused", "refused", "refused", "refused", "done beta 1"},
	"failed":     {"refused", "refused", "refused", "refused", "refused", "failed beta 1"},
	"cancelled":  {"refused", "refused", "refused", "refused", "refused", "derezzed beta 1"},
}

func TestEachEventHasItsEffectOnAClaimInEachState(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, s := range claimStates {
			for i, e := range claimEvents {
				id := q.create(alpha, CreateInput{Target: "any"})
				s.make(q, id)
				before := q.get(id)
				err := e.do(q, t.Context(), id)
				v := q.get(id)
				got := fmt.Sprintf("%s %s %d", v.Status, orDash(v.ClaimedBy), q.token(id))
				if err != nil {
					got = "refused"
					if !fault.Is(err, fault.Precondition) || v.Status != before.Status || v.ClaimedBy != before.ClaimedBy ||
						!v.LeaseUntil.Equal(before.LeaseUntil) || v.Result != before.Result {
						t.Errorf("%s, %s: %v, and the task is %+v, was %+v", s.name, e.name, err, v, before)
					}
				}
				if want := claimTable[s.name][i]; got != want {
					t.Errorf("%s, %s: %s (%v), want %s", s.name, e.name, got, err, want)
				}
				q.put(id, task.Task{Type: task.Work, Status: task.Derezzed}) // no later sweep finds it
			}
		}
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (q *queue) set(c identity.Caller, id string, to task.Status) {
	q.t.Helper()
	domaintest.Must(q.Update(q.t.Context(), c, UpdateInput{TaskID: id, Status: to}))(q.t)
}

func (q *queue) end(id string, outcome task.Status) {
	q.t.Helper()
	domaintest.Must(q.Complete(q.t.Context(), beta, CompleteInput{TaskID: id, Outcome: outcome, Result: "first"}))(q.t)
}

// token returns the token of the last claim of a task.
func (q *queue) token(id string) int64 {
	q.t.Helper()
	return domaintest.Must(task.Tasks.Get(q.t.Context(), q.DB.User("u"), id))(q.t).ClaimToken
}
