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

func TestAClaimHasATokenAndALease(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "beta", Instructions: "all of it"})
		out, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id, SessionID: "beta.1", LeaseSeconds: 60})
		want := ClaimOutput{
			ClaimToken: 1,
			View: View{ID: id, Type: task.Work, Title: "do it", Instructions: "all of it", Status: task.Active,
				Priority:  task.Normal,
				Action:    "queue",
				Source:    "alpha",
				Verified:  true,
				Target:    "beta",
				CreatedAt: t0,
				ClaimedBy: "beta",
				SessionID: "beta.1", StartedAt: t0, LeaseUntil: t0.Add(time.Minute)},
		}
		if err != nil || !reflect.DeepEqual(out, want) {
			t.Errorf("%+v, %v", out, err)
		}
		if got := q.get(id); !reflect.DeepEqual(got, want.View) {
			t.Errorf("read %+v", got)
		}
		if out := q.claim(beta, q.create(alpha, CreateInput{Target: "beta"})); !out.LeaseUntil.Equal(t0.Add(15 * time.Minute)) {
			t.Errorf("a lease without a length ends at %v", out.LeaseUntil)
		}
		if got := q.list(beta, ListInput{Status: task.Created}); got != "" {
			t.Errorf("what is claimed is still in the queue: %s", got)
		}
	})
}

func TestABoundKeyClaimsOnlyTasksForItsProgram(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for name, c := range map[string]struct {
			in CreateInput
			by identity.Caller
			ok bool
		}{
			"the target":             {CreateInput{Target: "beta"}, beta, true},
			"a fallback":             {CreateInput{Target: "delta", Fallback: []string{"gamma", "beta"}}, beta, true},
			"anyone, of one for any": {CreateInput{Target: "any"}, beta, true},
			"another":                {CreateInput{Target: "gamma"}, beta, false},
			"another than fallbacks": {CreateInput{Target: "delta", Fallback: []string{"gamma"}}, beta, false},
			"its own creator":        {CreateInput{Target: "beta"}, alpha, false},
			"an unbound key":         {CreateInput{Target: "gamma"}, loose, true},
		} {
			id := q.create(alpha, c.in)
			_, err := q.Claim(t.Context(), c.by, ClaimInput{TaskID: id})
			if c.ok && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !c.ok {
				domaintest.Refused(t, name, err, fault.Forbidden, c.in.Target, c.by.Program)
				if v := q.get(id); v.Status != task.Created || v.ClaimedBy != "" {
					t.Errorf("%s: refused, and yet %+v", name, v)
				}
			}
		}
	})
}

func TestTheSameSessionGetsItsOwnClaimBack(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "any"})
		first, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id, SessionID: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Minute)
		again, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id, SessionID: "s1", LeaseSeconds: 3600})
		first.AlreadyClaimed = true
		if err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		for name, c := range map[string]struct {
			by      identity.Caller
			session string
		}{
			"another session": {beta, "s2"}, "no session": {beta, ""}, "the session of another program": {gamma, "s1"},
			"another program": {gamma, "s3"}, "an unbound key": {loose, "s1"},
		} {
			_, err := q.Claim(t.Context(), c.by, ClaimInput{TaskID: id, SessionID: c.session})
			domaintest.Refused(t, name, err, fault.Precondition, `"beta"`, "2026-03-01T12:15:00Z")
		}
	})
}

func TestAClaimWithoutASessionCannotBeRepeated(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, _ := q.claimed()
		_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id})
		domaintest.Refused(t, "again", err, fault.Precondition, `"beta"`)
	})
}

func TestOtherTypesThanWorkAndDreamsAreNotClaimed(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, typ := range []task.Type{task.Question, task.Alert, task.Sprint} {
			q.put("x-"+string(typ), task.Task{Type: typ, Title: "x", Status: task.Created, Target: "any", CreatedAt: t0})
			_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: "x-" + string(typ)})
			domaintest.Refused(t, string(typ), err, fault.Precondition, string(typ))
		}
		for _, s := range []task.Status{task.Blocked, task.Completing, task.Done, task.Failed, task.Derezzed} {
			q.put("in-"+string(s), task.Task{Type: task.Work, Title: "x", Status: s, Target: "any", CreatedAt: t0})
			_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: "in-" + string(s)})
			domaintest.Refused(t, string(s), err, fault.Precondition, string(s))
		}
	})
}

func TestOfSixteenConcurrentClaimsOneSucceeds(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Target: "any"})
		winner := make(chan ClaimOutput, 16)
		lost := domaintest.Together(16, func(i int) error {
			c := domaintest.Bound("u", "claimer-"+string(rune('a'+i)))
			return domaintest.Retry(t.Context(), func() error {
				out, err := q.Claim(t.Context(), c, ClaimInput{TaskID: id, SessionID: "s"})
				if err == nil {
					winner <- out
				}
				return err
			})
		})
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Precondition, "claimed by")
		}
		if len(winner) != 1 {
			t.Fatalf("%d won", len(winner))
		}
		if out, v := <-winner, q.get(id); v.ClaimedBy != out.ClaimedBy || out.ClaimToken != 1 || out.AlreadyClaimed {
			t.Errorf("the winner has %+v, the task is %+v", out, v)
		}
	})
}
