package sprint

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// A claim token is a fence: it tells the claims of one claimant apart and gives nobody else a right.
func TestAReportOnAClaimNamesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		who   identity.Caller // the claimant, unless another is given
		by    *identity.Caller
		claim int64
		fence task.Fence
		fault fault.Kind // zero for none
	}{
		{"the first claim of a program, without a fence", beta, nil, 1, task.Fence{}, fault.Internal},
		{"a later one, without a fence", beta, nil, 2, task.Fence{}, fault.Precondition},
		{"a later one, with its token", beta, nil, 2, task.Fence{Token: 2}, fault.Internal},
		{"a later one, with its session", beta, nil, 2, task.Fence{SessionID: "s"}, fault.Internal},
		{"with a stale token", beta, nil, 2, task.Fence{Token: 1}, fault.Precondition},
		{"with a token of the future", beta, nil, 2, task.Fence{Token: 3}, fault.Precondition},
		{"with a stale token and the session", beta, nil, 2, task.Fence{Token: 1, SessionID: "s"}, fault.Precondition},
		{"with another session", beta, nil, 1, task.Fence{SessionID: "t"}, fault.Precondition},
		{"by another program, with the token", beta, &gamma, 1, task.Fence{Token: 1}, fault.Forbidden},
		{"by another program, with the session", beta, &gamma, 1, task.Fence{SessionID: "s"}, fault.Forbidden},
		{"by the sprint's creator, with the token", beta, &alpha, 1, task.Fence{Token: 1}, fault.Forbidden},
		{"by an unbound key, with the token", beta, &loose, 1, task.Fence{Token: 1}, fault.Forbidden},
		{"by a human, without a fence", beta, &person, 2, task.Fence{}, fault.Internal},
		{"by a human, with a stale token", beta, &person, 2, task.Fence{Token: 1}, fault.Internal},
		{"of an unbound key, without a token", loose, nil, 1, task.Fence{}, fault.Invalid},
		{"of an unbound key, with the session alone", loose, nil, 1, task.Fence{SessionID: "s"}, fault.Invalid},
		{"of an unbound key, with its token", loose, nil, 1, task.Fence{Token: 1}, fault.Internal},
		{"of an unbound key, by another with the token", loose, &drift, 1, task.Fence{Token: 1}, fault.Forbidden},
		{"of an unbound key, by a program with the token", loose, &beta, 1, task.Fence{Token: 1}, fault.Forbidden},
		{"under the program's name in capitals", domaintest.Bound("u", "Beta"), &beta, 1, task.Fence{}, fault.Internal},
	} {
		by := c.who
		if c.by != nil {
			by = *c.by
		}
		for _, to := range []task.Status{"", task.Created, task.Done, task.Failed} {
			story := at("active")
			story.ClaimedBy, story.ClaimToken, story.SessionID = c.who.Actor(), c.claim, "s"
			before := *story.Sprint
			half := 50
			done, err := apply(&story, task.Lease{}, by, report{to: to, progress: &half, fence: c.fence}, domaintest.Start)
			if c.fault == fault.Internal {
				if err != nil || !done.changed {
					t.Errorf("%s to %q: %+v, %v", c.name, to, done, err)
				}
				continue
			}
			if !fault.Is(err, c.fault) || story.Status != task.Active || story.Sprint.Progress != before.Progress {
				t.Errorf("%s to %q: %v, and the story is %s", c.name, to, err, story.Status)
			}
		}
	}
}

func TestOfTheAgentsUnderOneKeyOneGetsAStory(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		for name, c := range map[string]identity.Caller{"a program": beta, "an unbound key": loose} {
			id := y.plan(stories("a 1"))
			tokens := make(chan int64, 8)
			for _, err := range domaintest.Together(cap(tokens), func(i int) error {
				in := UpdateInput{SprintID: id, StoryID: "a", Status: "active", SessionID: fmt.Sprint("s", i/2)}
				if i < 4 {
					in.SessionID = ""
				}
				out, err := y.Update(t.Context(), c, in)
				if err == nil {
					tokens <- out.ClaimToken
				}
				return err
			}) {
				if !fault.Is(err, fault.Conflict) {
					domaintest.Refused(t, name, err, fault.Precondition, "is held by")
				}
			}
			// Two calls of one session are one agent's.
			if k := y.kept(docID(id, "a")); len(tokens) != 1 && (len(tokens) != 2 || k.SessionID == "") || k.ClaimToken != 1 {
				t.Errorf("%s: %d were told that the story is theirs; kept as %+v", name, len(tokens), k)
			}
		}
	})
}

func TestTheHolderOfACancelledStoryIsTold(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		for _, canceller := range []identity.Caller{alpha, person} {
			y.notices.sent = nil
			id := y.plan(stories("a 1,b 1"))
			y.do(beta, id, "a", "active")
			out := y.do(canceller, id, "a", "skipped")
			if k := y.kept(docID(id, "a")); k.CancelledBy != canceller.Actor() || k.EndedBy != canceller.Actor() ||
				out.Story.Reason != "cancelled by "+canceller.Actor() {
				t.Errorf("kept as %+v, answered %+v", k, out.Story)
			}
			if _, found := y.lease(docID(id, "a")); found {
				t.Error("a cancelled story has a lease")
			}
			for _, to := range []string{"", "complete", "failed", "queued", "active"} {
				_, err := y.tell(beta, id, "a", to)
				domaintest.Refused(t, "the holder's "+to, err, fault.Precondition, "cancelled by \""+canceller.Actor()+`"`)
			}
			if got := y.notices.sent["beta"]; len(got) == 0 || len(y.notices.sent) != 1 ||
				got[0] != `The story "do a" (a of sprint `+id+`), which you hold, was cancelled by `+canceller.Actor()+
					`. Stop working on it.` {
				t.Errorf("told %q", y.notices.sent)
			}
			// One that nobody holds, and one that its holder gives up, is nobody's news.
			y.do(canceller, id, "b", "skipped")
			given := y.plan(stories("a 1"))
			y.do(beta, given, "a", "active", "skipped")
			if k := y.kept(docID(given, "a")); len(y.notices.sent) != 1 || k.CancelledBy != "" || k.Reason != "" {
				t.Errorf("told %q; kept as %+v", y.notices.sent, k)
			}
		}
	})
}

func TestAReportByAnotherThanTheHolderIsRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from string
		who  identity.Caller
		to   task.Status
		want string
	}{
		{"queued", alpha, task.Done, "reported by alpha; nobody held the story"},
		{"queued", alpha, task.Failed, "reported by alpha; nobody held the story"},
		{"blocked", person, task.Derezzed, "reported by human:fedcba987654; nobody held the story"},
		{"active", person, task.Done, "reported by human:fedcba987654; beta held the story"},
		{"active", alpha, task.Derezzed, "cancelled by alpha"},
		{"active", beta, task.Done, ""},
		{"active", beta, task.Failed, ""},
	} {
		story := at(c.from)
		_, err := apply(&story, task.Lease{}, c.who, report{to: c.to, fence: task.Fence{Token: 3}}, domaintest.Start)
		if err != nil || story.Reason != c.want || story.EndedBy != c.who.Actor() {
			t.Errorf("%s to %s by %s: %q by %q, %v", c.from, c.to, c.who, story.Reason, story.EndedBy, err)
		}
	}
}

func TestARepeatedFailureCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		two, plan := 2, stories("a 1")
		plan[0].RetryPolicy, plan[0].MaxRetries = escalation, &two
		id := y.plan(plan)
		y.do(beta, id, "a", "active")
		for range 2 {
			if out := y.do(beta, id, "a", "failed"); !out.Retried || out.Story.Retries != 1 {
				t.Errorf("%+v", out)
			}
		}
		y.do(gamma, id, "a", "active")
		if out := y.do(beta, id, "a", "failed"); out.Story.Retries != 1 || out.Story.ClaimedBy != "gamma" {
			t.Errorf("a late repetition is %+v", out)
		}
		_, err := y.Update(t.Context(), beta, UpdateInput{SprintID: id, StoryID: "a", Status: "failed", ClaimToken: 2})
		domaintest.Refused(t, "with the token of another's claim", err, fault.Forbidden, `"gamma"`)
		y.do(gamma, id, "a", "failed")
		y.do(beta, id, "a", "active")
		for i := range 2 {
			if out := y.do(beta, id, "a", "failed"); !out.Escalated || out.Story.Status != "blocked" ||
				(out.AlertID == "") != (i == 1) {
				t.Errorf("%+v", out)
			}
		}
	})
}

func TestAStoryThatIsQueuedByHandFailsAnew(t *testing.T) {
	t.Parallel()
	none := 0
	by := author{"alpha", true, "alpha", alpha.Owner(), alpha.Owner()}
	story := newStory("s", by, draft(Draft{ID: "a", RetryPolicy: escalation, MaxRetries: &none}), 1, 0, domaintest.Start)
	for i, want := range []string{"blocked", "queued", "blocked"} {
		r := report{to: []task.Status{task.Failed, task.Created, task.Failed}[i], sprint: task.Active}
		if _, err := apply(&story, task.Lease{}, alpha, r, domaintest.Start); err != nil || word(story.Status) != want {
			t.Errorf("%d: %s, %v", i, story.Status, err)
		}
	}
}

func TestAHolderRenewsALapsedLeaseThatNobodyTook(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		y.do(beta, id, "a", "active")
		y.Pass(2 * LeaseFor)
		if out := y.do(beta, id, "a", "active"); out.ClaimToken != 1 || y.kept(docID(id, "a")).Attempts != 0 {
			t.Errorf("%+v", out)
		}
		y.Pass(2 * LeaseFor)
		// Another agent of the program cannot name the claim: for it the story is free.
		in := UpdateInput{SprintID: id, StoryID: "a", Status: "active"}
		if out, err := y.Update(t.Context(), beta, in); err != nil || out.ClaimToken != 2 {
			t.Errorf("%+v, %v", out, err)
		}
		_, err := y.tell(beta, id, "a", "complete")
		domaintest.Refused(t, "with the token of the former claim", err, fault.Precondition, "claimToken 1 is stale")
	})
}

// Sprints from before their creators were kept have the program that created them as their source and target.
func TestASprintFromBeforeCreatorsWereKeptIsItsProgramsOrAHumans(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		older := func(c identity.Caller) string {
			out, err := y.Create(t.Context(), c, CreateInput{ProjectName: "p", Branch: "b", Stories: stories("a 1,b 1")})
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range []string{out.SprintID, docID(out.SprintID, "a"), docID(out.SprintID, "b")} {
				y.change(doc, func(v *task.Task) { v.Maker, v.Sprint.Planner = identity.Owner{}, identity.Owner{} })
			}
			return out.SprintID
		}
		for name, c := range map[string]struct{ maker, who identity.Caller }{
			"another program":                   {alpha, beta},
			"an unbound key":                    {alpha, loose},
			"the unbound key itself":            {loose, loose},
			"a program, of an unbound key's":    {loose, beta},
			"a program of the name any":         {loose, domaintest.Bound("u", task.Any)},
			"an unbound key, of a human's work": {person, loose},
		} {
			id := older(c.maker)
			_, err := y.tell(c.who, id, "a", "skipped")
			domaintest.Refused(t, name, err, fault.Forbidden, "creator")
			_, err = y.Complete(t.Context(), c.who, CompleteInput{SprintID: id})
			domaintest.Refused(t, name, err, fault.Forbidden, "a human")
			y.do(person, id, "a", "skipped")
			if _, err := y.Complete(t.Context(), person, CompleteInput{SprintID: id}); err != nil {
				t.Errorf("%s: a human: %v", name, err)
			}
		}
		id := older(alpha)
		y.do(domaintest.Bound("u", "ALPHA"), id, "a", "skipped") // names differ in case
		y.do(alpha, id, "b", "complete")
		if _, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id}); err != nil {
			t.Error(err)
		}
	})
}

// A sprint of ALPHA is alpha's: names are compared without case.
func TestACreatorIsKnownWhateverTheCaseOfItsName(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1,c 1"))
		shout := domaintest.Bound("u", "ALPHA")
		y.do(shout, id, "a", "skipped")
		y.do(beta, id, "b", "active")
		y.do(shout, id, "b", "skipped")
		y.do(alpha, id, "c", "active")
		y.Pass(time.Minute)
		if _, err := y.Update(t.Context(), shout, UpdateInput{SprintID: id, StoryID: "c", Status: "complete"}); err != nil {
			t.Error(err)
		}
		if out, err := y.Complete(t.Context(), shout, CompleteInput{SprintID: id}); err != nil ||
			out.Summary.Completed != 1 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}
