package dispatch

import (
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// acts holds every fenced operation.
func (q *queue) acts(c identity.Caller, id string, token int64) map[string]error {
	return map[string]error{
		"complete": domaintest.Err(q.Complete(q.t.Context(), c, CompleteInput{TaskID: id, ClaimToken: token, Result: "mine"})),
		"renew":    domaintest.Err(q.Renew(q.t.Context(), c, RenewInput{TaskID: id, ClaimToken: token})),
		"release":  domaintest.Err(q.Release(q.t.Context(), c, ReleaseInput{TaskID: id, ClaimToken: token})),
	}
}

func TestAStaleTokenIsRefused(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "any"})
		first := q.claim(gamma, id).ClaimToken
		q.Pass(time.Hour)
		old := q.claim(beta, id).ClaimToken
		q.Pass(time.Hour)
		held := q.claim(gamma, id)
		if held.ClaimToken <= old || held.Attempts != 2 || held.ClaimedBy != "gamma" {
			t.Fatalf("the third claim is %+v", held)
		}
		for name, err := range q.acts(gamma, id, first) {
			domaintest.Refused(t, name, err, fault.Precondition, "stale")
		}
		for name, err := range q.acts(beta, id, old) {
			domaintest.Refused(t, name+" by the claimant before", err, fault.Forbidden, `"gamma"`)
		}
		for name, err := range q.acts(gamma, id, held.ClaimToken+1) {
			domaintest.Refused(t, name+" ahead", err, fault.Precondition)
		}
		v := q.get(id)
		if v.Status != task.Active || v.ClaimedBy != "gamma" || v.Result != "" || !v.LeaseUntil.Equal(held.LeaseUntil) {
			t.Errorf("the task is %+v", v)
		}
	})
}

func TestNobodyButTheClaimantMayActWhateverTokenItShows(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		for _, c := range []identity.Caller{alpha, gamma, loose, drift} {
			for _, shown := range []int64{0, token, token + 1} {
				for name, err := range q.acts(c, id, shown) {
					domaintest.Refused(t, name+" by "+c.Actor(), err, fault.Forbidden, `"beta"`, "its claimant or a human")
				}
			}
		}
		if v := q.get(id); v.Status != task.Active || v.ClaimedBy != "beta" {
			t.Fatalf("the task is %+v", v)
		}
		if out, err := q.Complete(t.Context(), beta, CompleteInput{TaskID: id}); err != nil || out.Status != task.Done {
			t.Errorf("by the claiming program: %+v, %v", out, err)
		}
	})
}

func TestAnUnboundKeyNeedsTheTokenForItsOwnClaim(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta"})
		out := q.claim(loose, id)
		if out.ClaimedBy != "key:0123456789ab" {
			t.Errorf("held by %q", out.ClaimedBy)
		}
		if _, err := q.Complete(t.Context(), loose, CompleteInput{TaskID: id}); domaintest.Fields(err) != "claimToken" {
			t.Errorf("without: %v", err)
		}
		for name, err := range q.acts(drift, id, out.ClaimToken) {
			domaintest.Refused(t, name+" by another unbound key", err, fault.Forbidden, "key:0123456789ab", "key:ffffffffffff")
		}
		done, err := q.Complete(t.Context(), loose, CompleteInput{TaskID: id, ClaimToken: out.ClaimToken})
		if err != nil || done.Status != task.Done {
			t.Errorf("with: %+v, %v", done, err)
		}
	})
}

func TestATaskWithoutAHolderCannotBeRenewedReleasedOrCompleted(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta"})
		for _, c := range []identity.Caller{alpha, beta, loose} {
			for name, err := range q.acts(c, id, 1) {
				domaintest.Refused(t, name, err, fault.Precondition, "claim it first")
			}
		}
	})
}

func TestARenewedLeaseCountsFromNow(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		q.Pass(10 * time.Minute)
		out, err := q.Renew(t.Context(), beta, RenewInput{TaskID: id, ClaimToken: token, LeaseSeconds: 60})
		if want := (RenewOutput{id, token, t0.Add(11 * time.Minute)}); err != nil || out != want {
			t.Errorf("%+v, %v", out, err)
		}
		if v := q.get(id); !v.LeaseUntil.Equal(out.LeaseUntil) {
			t.Errorf("read %+v", v)
		}
		out, err = q.Renew(t.Context(), beta, RenewInput{TaskID: id, ClaimToken: token})
		if err != nil || !out.LeaseUntil.Equal(t0.Add(25*time.Minute)) {
			t.Errorf("without a length: %+v, %v", out, err)
		}
		q.Pass(15 * time.Minute)
		_, err = q.Renew(t.Context(), beta, RenewInput{TaskID: id, ClaimToken: token})
		domaintest.Refused(t, "too late", err, fault.Precondition, "2026-03-01T12:25:00Z")
	})
}

func TestAReleasedTaskIsInTheQueueAgain(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		v, err := q.Release(t.Context(), beta, ReleaseInput{TaskID: id, ClaimToken: token, Reason: "too hard"})
		if err != nil || v.Status != task.Created || v.ClaimedBy != "" || v.SessionID != "" || !v.StartedAt.IsZero() ||
			v.Reason != "too hard" ||
			v.Attempts != 0 {
			t.Fatalf("%+v, %v", v, err)
		}
		if got := q.get(id); !reflect.DeepEqual(got, v) {
			t.Errorf("read %+v", got)
		}
		for name, err := range q.acts(beta, id, token) {
			domaintest.Refused(t, name, err, fault.Precondition)
		}
		if got := q.list(beta, ListInput{Target: "beta"}); got != "do it" {
			t.Errorf("listed %q", got)
		}
		if out := q.claim(beta, id); out.ClaimToken != token+1 {
			t.Errorf("claimed anew: %+v", out)
		}
	})
}

func TestACompletionEndsATask(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, outcome := range []task.Status{"", task.Done, task.Failed} {
			id, token := q.claimed()
			in := CompleteInput{
				TaskID:     id,
				ClaimToken: token,
				Outcome:    outcome,
				Result:     "so be it",
				TokensIn:   3,
				TokensOut:  4,
				CostUSD:    0.25,
			}
			out, err := q.Complete(t.Context(), beta, in)
			want := outcome
			if want == "" {
				want = task.Done
			}
			if err != nil || out.Status != want || out.Result != "so be it" || !out.CompletedAt.Equal(t0) ||
				out.AlreadyCompleted ||
				out.Usage == nil ||
				*out.Usage != (task.Usage{
					TokensIn:  3,
					TokensOut: 4,
					CostUSD:   0.25,
				}) ||
				out.ClaimedBy != "beta" {
				t.Errorf("%s: %+v, %v", want, out, err)
			}
			if got := q.get(id); !reflect.DeepEqual(got, out.View) {
				t.Errorf("%s: read %+v", want, got)
			}
		}
	})
}

func TestARepeatedCompletionReturnsTheFirstResult(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		in := CompleteInput{TaskID: id, ClaimToken: token, Result: "r", TokensIn: 1}
		first, err := q.Complete(t.Context(), beta, in)
		if err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Hour)
		again, err := q.Complete(t.Context(), beta, in)
		if err != nil || !again.AlreadyCompleted || !reflect.DeepEqual(again.View, first.View) {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.Result = "another"
		_, err = q.Complete(t.Context(), beta, in)
		domaintest.Refused(t, "another result", err, fault.Precondition, "Invalid transition for task: done → done")
		in.Result, in.Outcome = "r", task.Failed
		_, err = q.Complete(t.Context(), beta, in)
		domaintest.Refused(t, "another outcome", err, fault.Precondition, "Invalid transition for task: done → failed")
		for name, err := range map[string]error{
			"release": domaintest.Err(q.Release(t.Context(), beta, ReleaseInput{TaskID: id, ClaimToken: token})),
			"claim":   domaintest.Err(q.Claim(t.Context(), beta, ClaimInput{TaskID: id})),
			"renew":   domaintest.Err(q.Renew(t.Context(), beta, RenewInput{TaskID: id, ClaimToken: token})),
		} {
			domaintest.Refused(t, name, err, fault.Precondition)
		}
	})
}
