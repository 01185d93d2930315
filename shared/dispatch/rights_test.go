package dispatch

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// The callers of one user other than beta, which holds a task that alpha created.
var others = map[string]identity.Caller{"the creator": alpha, "a third program": gamma, "an unbound key": loose,
	"another unbound key": drift}

// Each operation on a claim, as the claimant would call it.
func (q *queue) onClaim(c identity.Caller, id string, token int64) map[string]func() error {
	ctx := q.t.Context()
	update := func(in UpdateInput) func() error {
		in.TaskID, in.ClaimToken = id, token
		return func() error { return domaintest.Err(q.Update(ctx, c, in)) }
	}
	complete := func(outcome task.Status) func() error {
		return func() error {
			return domaintest.Err(q.Complete(ctx, c, CompleteInput{TaskID: id, ClaimToken: token, Outcome: outcome}))
		}
	}
	return map[string]func() error{
		"renew": func() error {
			return domaintest.Err(q.Renew(ctx, c, RenewInput{TaskID: id, ClaimToken: token, LeaseSeconds: 60}))
		},
		"note":    update(UpdateInput{Note: "n"}),
		"block":   update(UpdateInput{Status: task.Blocked}),
		"queue":   update(UpdateInput{Status: task.Created}),
		"release": func() error { return domaintest.Err(q.Release(ctx, c, ReleaseInput{TaskID: id, ClaimToken: token})) },
		"finish":  complete(task.Done),
		"fail":    complete(task.Failed),
		"end":     update(UpdateInput{Status: task.Done}),
	}
}

func TestAttackAClaimIsItsClaimants(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		before := q.get(id)
		for who, c := range others {
			for what, call := range q.onClaim(c, id, token) {
				domaintest.Refused(t, what+" by "+who, call(), fault.Forbidden, `"beta"`)
			}
			_, err := q.Claim(t.Context(), c, ClaimInput{TaskID: id, SessionID: before.SessionID})
			if err == nil {
				t.Errorf("%s claims it", who)
			}
		}
		if got := q.get(id); !reflect.DeepEqual(got, before) {
			t.Errorf("the task is %+v, was %+v", got, before)
		}
		for _, c := range []identity.Caller{beta, person} {
			for what := range q.onClaim(c, "", 0) {
				id, token := q.claimed()
				if c.IsHuman() {
					token = 77 // no token stops a person
				}
				if err := q.onClaim(c, id, token)[what](); err != nil {
					t.Errorf("%s by %s: %v", what, c.Actor(), err)
				}
			}
		}
	})
}

func TestTheRecordSaysWhoEndedATask(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for name, c := range map[string]struct {
			by     identity.Caller
			update bool
			want   string
		}{
			"the claimant":           {beta, false, "beta"},
			"a person":               {person, false, "human:fedcba987654"},
			"the claimant's update":  {beta, true, "beta"},
			"the update of a person": {person, true, "human:fedcba987654"},
		} {
			id, token := q.claimed()
			var err error
			if c.update {
				_, err = q.Update(t.Context(), c.by, UpdateInput{TaskID: id, Status: task.Failed, ClaimToken: token})
			} else {
				_, err = q.Complete(t.Context(), c.by, CompleteInput{TaskID: id, ClaimToken: token})
			}
			if got := q.get(id); err != nil || got.EndedBy != c.want || got.ClaimedBy != "beta" || got.CancelledBy != "" {
				t.Errorf("%s: ended by %q, claimed by %q, %v", name, got.EndedBy, got.ClaimedBy, err)
			}
		}
	})
}

func TestAClaimIsForThoseThatTheTaskIsFor(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		mine, itself, free := drift, loose, loose
		mine.Reserved, free.Reserved = []string{"alpha", "beta", "gamma"}, []string{"alpha"}
		itself.Reserved = mine.Reserved
		for name, c := range map[string]struct {
			in   CreateInput
			by   identity.Caller
			want bool
		}{
			"its target":                        {CreateInput{Target: "beta"}, beta, true},
			"its target in capitals":            {CreateInput{Target: "BETA"}, beta, true},
			"a fallback":                        {CreateInput{Target: "gamma", Fallback: []string{"Beta"}}, beta, true},
			"any":                               {CreateInput{Target: "any"}, beta, true},
			"any in capitals":                   {CreateInput{Target: "ANY"}, gamma, true},
			"any, with an unbound key":          {CreateInput{Target: "any"}, itself, true},
			"any as a fallback":                 {CreateInput{Target: "gamma", Fallback: []string{"any"}}, itself, true},
			"its creator":                       {CreateInput{Target: "beta"}, alpha, false},
			"a third":                           {CreateInput{Target: "beta"}, gamma, false},
			"a bound name, with an unbound key": {CreateInput{Target: "beta"}, itself, false},
			"in capitals, with an unbound key":  {CreateInput{Target: "BETA"}, mine, false},
			"a free name, with an unbound key":  {CreateInput{Target: "beta"}, free, true},
			"a person":                          {CreateInput{Target: "beta"}, person, true},
		} {
			_, err := q.Claim(t.Context(), c.by, ClaimInput{TaskID: q.create(alpha, c.in)})
			if c.want != (err == nil) || err != nil && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAnUnboundKeyCreatesNothingUnderTheNameOfABoundOne(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		by := loose
		by.Reserved = []string{"alpha"}
		for _, name := range []string{"alpha", "ALPHA", " alpha"} {
			_, err := q.Create(t.Context(), by, CreateInput{Title: "x", Target: "beta", Source: name})
			domaintest.Refused(t, name, err, fault.Forbidden, `"alpha"`)
		}
		if _, err := q.Create(t.Context(), person, CreateInput{Title: "x", Target: "beta", Source: "alpha"}); err != nil {
			t.Error("a person: ", err)
		}
	})
}

// notices are the messages of the system by their ids, as "program: text". A transaction that is retried sends them again.
type notices map[string]string

func (n notices) Notify(_ *store.Tx, id, program, text string, _ time.Time) {
	n[id] = program + ": " + text
}

func TestTheCreatorCancelsRunningWorkAndTheHolderLearnsIt(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for name, c := range map[string]struct {
			maker, holder, by identity.Caller
			as                string // in messages
			told              bool
		}{
			"by its creator":                    {alpha, beta, alpha, `"alpha"`, true},
			"by a person":                       {alpha, beta, person, `"human:fedcba987654"`, true},
			"by an unbound creator":             {loose, beta, loose, `"key:0123456789ab"`, true},
			"by its creator, who holds it":      {alpha, alpha, alpha, `"alpha"`, false},
			"of a holder without a program":     {alpha, loose, alpha, `"alpha"`, false},
			"of a person's work":                {alpha, person, alpha, `"alpha"`, false},
			"of a program's, by its own person": {person, beta, person, `"human:fedcba987654"`, true},
		} {
			mail := notices{}
			q.Mail = mail
			id := q.create(c.maker, CreateInput{Target: "any", Title: "build"})
			token := q.claim(c.holder, id).ClaimToken
			cancel := UpdateInput{TaskID: id, Status: task.Derezzed}
			for who, other := range map[string]identity.Caller{"another program": gamma, "another key": drift} {
				domaintest.Refused(t, name+", tried by "+who, domaintest.Err(q.Update(t.Context(), other, cancel)),
					fault.Forbidden, "may cancel it", "a human")
			}
			if len(mail) != 0 {
				t.Errorf("%s: a refused cancellation sends %q", name, mail)
			}
			v, err := q.Update(t.Context(), c.by, cancel)
			if err != nil || v.Status != task.Derezzed || v.CancelledBy == "" || v.EndedBy != "" {
				t.Fatalf("%s: %+v, %v", name, v, err)
			}
			want := []string{c.holder.Actor() + `: The task "build" (` + id + `), which you hold, was cancelled by ` +
				c.by.Actor() + `. Stop working on it.`}
			if !c.told {
				want = nil
			}
			if got := slices.Collect(maps.Values(mail)); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", name, got, want)
			}
			if c.holder.IsHuman() || c.holder.Owner() == c.maker.Owner() {
				continue // has the rights of the creator
			}
			for what, call := range q.onClaim(c.holder, id, token) {
				domaintest.Refused(t, name+", then "+what, call(), fault.Precondition, "cancelled by", c.as)
			}
			_, err = q.Claim(t.Context(), c.holder, ClaimInput{TaskID: id})
			domaintest.Refused(t, name+", then claim", err, fault.Precondition, "cancelled by", c.as)
		}
	})
}

func TestACancelledTaskHasNoLease(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, _ := q.claimed()
		domaintest.Must(q.Update(t.Context(), alpha, UpdateInput{TaskID: id, Status: task.Derezzed}))(t)
		q.Pass(time.Hour)
		if n := q.sweep(10); n != 0 || q.get(id).Status != task.Derezzed {
			t.Errorf("swept %d: %+v", n, q.get(id))
		}
	})
}

func TestWhatExpiredOrWasDoneWasNotCancelled(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id, token := q.claimed()
		result := CompleteInput{TaskID: id, ClaimToken: token, Result: "r"}
		domaintest.Must(q.Complete(t.Context(), beta, result))(t)
		expired := q.create(alpha, CreateInput{Target: "beta", TTL: 60})
		q.Pass(time.Hour)
		domaintest.Must(q.SweepExpired(t.Context(), store.NewAdmin(q.DB), 10))(t)
		for _, id := range []string{id, expired} {
			v := domaintest.Must(q.Update(t.Context(), alpha, UpdateInput{TaskID: id, Status: task.Derezzed}))(t)
			if v.Status != task.Derezzed || v.CancelledBy != "" {
				t.Errorf("%+v", v)
			}
		}
	})
}

func TestTheAnswerToAQuestionIsShownToItsAskerAndToPeople(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		answered := task.Task{Type: task.Question, Title: "?", Status: task.Done, Target: task.User, CreatedAt: t0,
			Question: &task.QuestionPart{Content: "?", Response: "42"}}
		verified, unbounds, unknown := answered, answered, answered
		verified.Source, verified.Verified = "alpha", true
		unbounds.Maker = loose.Owner()
		unknown.Source = "alpha"
		answered.Maker = alpha.Owner()
		for id, c := range map[string]struct {
			task task.Task
			seen []string
		}{
			"new":     {answered, []string{"alpha"}},
			"older":   {verified, []string{"alpha"}},
			"unbound": {unbounds, []string{"key:0123456789ab"}},
			"unknown": {unknown, nil},
		} {
			q.put(id, c.task)
			for _, by := range []identity.Caller{alpha, beta, loose, drift, person} {
				want := by.IsHuman() || slices.Contains(c.seen, by.Actor())
				v := domaintest.Must(q.Get(t.Context(), by, TaskInput{TaskID: id}))(t)
				if got := v.Question.Response != ""; got != want || v.Question.Content != "?" {
					t.Errorf("%s is shown to %s: %v", id, by.Actor(), got)
				}
				for _, in := range []ListInput{{Target: "user", Status: "all"}, {Type: task.Question, Status: "all"}} {
					for _, v := range domaintest.Must(q.List(t.Context(), by, in))(t).Tasks {
						if got := v.Question.Response != ""; v.ID == id && got != want {
							t.Errorf("%s is listed to %s: %v", id, by.Actor(), got)
						}
					}
				}
			}
		}
	})
}

func TestAKeyForAnswersReadsQuestionsAlone(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		work := q.create(alpha, CreateInput{Target: "beta"})
		q.put("question", task.Task{Type: task.Question, Status: task.Created, Target: task.User, CreatedAt: t0,
			Question: &task.QuestionPart{Content: "?"}})
		link := person
		link.Scopes = []string{identity.ScopeAnswer}
		if _, err := q.Get(t.Context(), link, TaskInput{TaskID: "question"}); err != nil {
			t.Error(err)
		}
		_, err := q.Get(t.Context(), link, TaskInput{TaskID: work})
		domaintest.Refused(t, "work", err, fault.Forbidden, "questions only", "answer")
	})
}

func TestUnknownTargetsAreAnsweredWithAWarning(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		q.Directory = programs{"alpha", "beta"}
		for _, c := range []struct {
			in     CreateInput
			target string
			want   string
		}{
			{CreateInput{Target: "beta"}, "beta", ""}, {CreateInput{Target: "BETA"}, "beta", ""},
			{CreateInput{Target: "any"}, "any", ""}, {CreateInput{Target: "User"}, "user", ""},
			{CreateInput{Target: "beta", Fallback: []string{"Alpha", "ANY"}}, "beta", ""},
			{CreateInput{Target: "beat", Fallback: []string{"alpha", "gama"}}, "beat",
				`no program named "beat", "gama" is known; the task waits until one claims it. Known: alpha, beta`},
		} {
			c.in.Title = "x"
			out, err := q.Create(t.Context(), alpha, c.in)
			if err != nil || out.Warning != c.want || out.Target != c.target {
				t.Errorf("%+v: %q for %q, %v", c.in, out.Warning, out.Target, err)
			}
		}
		// A human's spelling of a source is that of the program.
		domaintest.Must(q.Create(t.Context(), person, CreateInput{Title: "mine", Target: "any", Source: "ALPHA"}))(t)
		if got := q.list(gamma, ListInput{Source: "Alpha"}); got != "x x mine" {
			t.Errorf("of the source there is %q", got)
		}
	})
}

// programs is a directory.
type programs []string

func (p programs) Programs(context.Context, string) ([]string, error) { return p, nil }

func (notices) Inbox(_ context.Context, _ store.Reader, program, session string) (string, error) {
	if session == "live" {
		return program + "/" + session, nil
	}
	return program, nil
}

func TestTheSessionThatHoldsACancelledTaskIsTold(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		mail := notices{}
		q.Mail = mail
		for session, want := range map[string]string{"live": "beta/live", "over": "beta", "": "beta"} {
			id := q.create(alpha, CreateInput{Target: "beta"})
			domaintest.Must(q.Claim(t.Context(), beta, ClaimInput{TaskID: id, SessionID: session}))(t)
			clear(mail)
			domaintest.Must(q.Update(t.Context(), alpha, UpdateInput{TaskID: id, Status: task.Derezzed}))(t)
			told := fmt.Sprint(mail)
			if len(mail) != 1 || !strings.Contains(told, ":"+want+": ") {
				t.Errorf("held by the session %q: told %s, want %s", session, told, want)
			}
		}
	})
}
