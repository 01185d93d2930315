package sprint

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

func TestASprintReadsAsItWasPlanned(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		three := 3
		in := CreateInput{ProjectName: "parley", Branch: "main", SessionID: "alpha.1",
			Config: Config{"big", "small", 4}, Stories: []Planned{story("b 7 a"),
				{Draft: Draft{ID: "a", Title: "the first", Complexity: "high", RetryPolicy: retryAuto,
					MaxRetries: &three}}}}
		out, err := y.Create(t.Context(), alpha, in)
		if want := (CreateOutput{SprintID: "id-000001", Status: task.Active, Stories: 2, Waves: 2, Ready: []string{"a"},
			CreatedAt: domaintest.Start}); err != nil || !reflect.DeepEqual(out, want) {
			t.Fatalf("%+v, %v", out, err)
		}
		first := Standing{StoryView{ID: "a", TaskID: "id-000001.a", Title: "the first", Wave: 1, Status: "queued",
			Dependencies: []string{}, Complexity: "high", RetryPolicy: retryAuto, MaxRetries: 3, Source: "alpha",
			Verified: true}, []string{}, []string{}}
		second := Standing{StoryView{ID: "b", TaskID: "id-000001.b", Title: "do b", Wave: 2, Status: "queued",
			Dependencies: []string{"a"}, Complexity: "normal", RetryPolicy: retryNone, Source: "alpha", Verified: true},
			[]string{"a"}, []string{}}
		want := View{SprintID: "id-000001", ProjectName: "parley", Branch: "main", Status: task.Active, Source: "alpha",
			Verified: true, SessionID: "alpha.1", Config: in.Config, CreatedAt: domaintest.Start,
			Board: Board{Ready: []string{"a"}, Counts: Counts{Queued: 2},
				Waves: []Wave{{1, true, false, []Standing{first}}, {2, false, false, []Standing{second}}}}}
		if got := y.get("id-000001"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
		for id, routes := range map[string][]string{"id-000001": {"sprint:*", "sprint:alpha"},
			"id-000001.a": {"sprint-story:*", "sprint-story:alpha"}} {
			if k := y.kept(id); !slices.Equal(k.Routes, routes) || !k.ExpiresAt.IsZero() || !k.PurgeAt.IsZero() ||
				k.Priority != task.Normal {
				t.Errorf("kept as %+v", k)
			}
		}
	})
}

func TestARefusedPlanLeavesNoDocuments(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		_, err := y.Create(t.Context(), alpha, CreateInput{ProjectName: "p", Branch: "b",
			Stories: stories("a 1 b,b 1 a")})
		domaintest.Refused(t, "a cycle", err, fault.Invalid, "cycle: a → b → a")
		_, err = y.Get(t.Context(), alpha, GetInput{SprintID: "id-000001"})
		domaintest.Refused(t, "the sprint", err, fault.NotFound)
	})
}

func TestWavesOpenInOrderAndDependenciesHold(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1 a,c 2 b,d 2,e 3"))
		y.draws(id, "active ready:a | 1* a=queued b=queued<a | 2 c=queued<b d=queued | 3 e=queued")
		_, err := y.tell(beta, id, "b", "active")
		domaintest.Refused(t, "a story that waits", err, fault.Precondition, `"b" waits for a (queued)`)
		_, err = y.tell(beta, id, "d", "active")
		domaintest.Refused(t, "a closed wave", err, fault.Precondition, "wave 2", "wave 1 has ended")
		y.do(beta, id, "a", "active", "complete")
		y.draws(id, "active ready:b | 1* a=complete b=queued | 2 c=queued<b d=queued | 3 e=queued")
		y.do(gamma, id, "b", "active")
		y.draws(id, "active ready: | 1* a=complete b=active | 2 c=queued<b d=queued | 3 e=queued")
		if out := y.do(gamma, id, "b", "complete"); out.Story.Progress != 100 ||
			!out.Story.CompletedAt.Equal(domaintest.Start) || !out.LeaseUntil.IsZero() {
			t.Errorf("%+v", out)
		}
		y.draws(id, "active ready:c,d | 1 a=complete b=complete | 2* c=queued d=queued | 3 e=queued")
		y.do(beta, id, "c", "active", "skipped")
		if out := y.do(beta, id, "d", "active", "complete"); out.Sprint != "" {
			t.Errorf("%+v", out)
		}
		y.draws(id, "active ready:e | 1 a=complete b=complete | 2 c=skipped d=complete | 3* e=queued")
		if out := y.do(beta, id, "e", "active", "failed"); out.Sprint != task.Completing ||
			y.kept(id).Status != task.Completing {
			t.Errorf("%+v", out)
		}
		y.draws(id, "completing ready: | 1 a=complete b=complete | 2 c=skipped d=complete | 3 e=failed")
		if v := y.get(id); v.Counts != (Counts{Complete: 3, Failed: 1, Skipped: 1}) || v.Progress != 100 ||
			!v.Waves[0].Ended {
			t.Errorf("%+v", v)
		}
		if l := len(y.get(id).Waves); l != 3 {
			t.Errorf("%d waves", l)
		}
	})
}

func TestEveryReportOfTheHolderRenewsTheLease(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		doc, half := docID(id, "a"), 50
		out := y.do(beta, id, "a", "active")
		if want := y.Clock.Now().Add(65 * time.Minute); !out.LeaseUntil.Equal(want) || out.Story.ClaimedBy != "beta" ||
			!out.Story.StartedAt.Equal(domaintest.Start) {
			t.Errorf("%+v", out)
		}
		for name, in := range map[string]UpdateInput{
			"active again": {Status: "active", ClaimToken: 1}, "progress": {Progress: &half},
			"a beat": {}} {
			y.Pass(time.Hour)
			in.SprintID, in.StoryID = id, "a"
			got, err := y.Update(t.Context(), beta, in)
			l, found := y.lease(doc)
			if want := (task.Lease{ClaimToken: 1, ClaimedBy: "beta",
				LeaseUntil: y.Clock.Now().Add(LeaseFor)}); err != nil || !found || l != want ||
				!got.LeaseUntil.Equal(want.LeaseUntil) {
				t.Errorf("%s: %+v, %+v, %v", name, got, l, err)
			}
		}
		if k := y.kept(doc); k.ClaimToken != 1 || !k.StartedAt.Equal(domaintest.Start) || k.Sprint.Progress != 50 {
			t.Errorf("kept as %+v, %+v", k, k.Sprint)
		}
		_, err := y.tell(gamma, id, "a", "active")
		domaintest.Refused(t, "another's", err, fault.Precondition, `held by "beta" until 2026-03-01T16:05:00Z`)
		y.do(beta, id, "a", "queued")
		if _, found := y.lease(doc); found {
			t.Error("a story that was given back has a lease")
		}
		y.do(gamma, id, "a", "active")
		if l, _ := y.lease(doc); l.ClaimToken != 2 || l.ClaimedBy != "gamma" {
			t.Errorf("%+v", l)
		}
		_, err = y.tell(beta, id, "a", "complete")
		domaintest.Refused(t, "by the former holder", err, fault.Forbidden, `"gamma"`)
		y.do(gamma, id, "a", "complete")
		if _, found := y.lease(doc); found {
			t.Error("a story that is complete has a lease")
		}
	})
}

func TestTheAnswerToAFailureReportsTheRetry(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		one, plan := 1, stories("a 1,b 1,c 1")
		for i, policy := range []string{retryNone, retryAuto, escalation} {
			plan[i].RetryPolicy, plan[i].MaxRetries = policy, &one
		}
		id := y.plan(plan)
		if out := y.do(beta, id, "a", "active", "failed"); out.Retried || out.Escalated ||
			out.Story.Status != "failed" {
			t.Errorf("none: %+v", out)
		}
		if out := y.do(beta, id, "b", "active", "failed"); !out.Retried || out.Story.Status != "queued" ||
			out.Story.Retries != 1 || out.Story.ClaimedBy != "" {
			t.Errorf("auto_retry: %+v", out)
		}
		if _, found := y.lease(docID(id, "b")); found {
			t.Error("a story that failed has a lease")
		}
		if out := y.do(beta, id, "b", "active", "failed"); out.Retried || out.Story.Status != "failed" {
			t.Errorf("auto_retry again: %+v", out)
		}
		if out := y.do(beta, id, "c", "active", "failed"); !out.Retried || out.AlertID != "" {
			t.Errorf("escalate: %+v", out)
		}
		claimed := y.do(beta, id, "c", "active")
		out, err := y.Update(t.Context(), beta, UpdateInput{SprintID: id, StoryID: "c", Status: "failed",
			CurrentAction: "the linker says no", ClaimToken: claimed.ClaimToken})
		if err != nil || out.Retried || !out.Escalated || out.Story.Status != "blocked" || out.Sprint != "" {
			t.Fatalf("escalate again: %+v, %v", out, err)
		}
		a := y.kept(out.AlertID)
		if a.Type != task.Alert || a.Target != "user" || a.Priority != task.High || a.AlertType != "error" ||
			a.Status != task.Created || a.Source != "beta" || !a.Verified ||
			a.Instructions != "Story c of sprint "+id+" has failed 2 times, and its wave waits for it. Set it to queued to "+
				"have it tried again, or to skipped to go on without it." ||
			a.Context != "do c\nLast reported: the linker says no" || !slices.Contains(a.Routes, "alert:user") ||
			!a.ExpiresAt.After(domaintest.Start) {
			t.Errorf("%+v", a)
		}
		y.draws(id, "active ready: | 1* a=failed b=failed c=blocked")
		_, err = y.tell(beta, id, "c", "active")
		domaintest.Refused(t, "what is blocked", err, fault.Forbidden, "waits for a human")
		y.do(person, id, "c", "queued")
		y.draws(id, "active ready:c | 1* a=failed b=failed c=queued")
		if out := y.do(alpha, id, "c", "skipped"); out.Sprint != task.Completing {
			t.Errorf("%+v", out)
		}
	})
}

func TestAFailedDependencyBlocksUntilItsCreatorDecides(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1 a,c 1 b a"))
		y.do(beta, id, "a", "active", "failed")
		y.draws(id, "active ready: | 1* a=failed b=queued<a!a c=queued<a,b!a")
		_, err := y.tell(beta, id, "b", "active")
		domaintest.Refused(t, "b", err, fault.Precondition, "waits for a (failed)")
		_, err = y.tell(beta, id, "a", "queued")
		domaintest.Refused(t, "queued by the program that reported the failure", err, fault.Forbidden, "creator")
		y.do(alpha, id, "a", "queued")
		y.draws(id, "active ready:a | 1* a=queued b=queued<a c=queued<a,b")
		y.do(beta, id, "a", "active", "complete")
		y.do(alpha, id, "b", "skipped")
		y.draws(id, "active ready: | 1* a=complete b=skipped c=queued<b!b")
		y.do(alpha, id, "c", "skipped")
		y.draws(id, "completing ready: | 1 a=complete b=skipped c=skipped")
		_, err = y.tell(alpha, id, "b", "queued")
		domaintest.Refused(t, "what was skipped", err, fault.Precondition, "derezzed → created")
	})
}

func TestAFailedStoryIsNotQueuedAgainOnceItsSprintIsCompleting(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		y.do(beta, id, "a", "active", "failed")
		_, err := y.tell(alpha, id, "a", "queued")
		domaintest.Refused(t, "queued", err, fault.Precondition, "completing", "new sprint")
		y.draws(id, "completing ready: | 1 a=failed")
	})
}

func TestTheSprintsOfAnotherUserAreNotFound(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		for name, who := range map[string]identity.Caller{"another user": {User: "v", Program: "alpha", KeyID: "k"},
			"another user's human": {User: "v", KeyID: "k", Kind: identity.Human}} {
			_, err := y.Get(t.Context(), who, GetInput{SprintID: id})
			domaintest.Refused(t, name, err, fault.NotFound, "no sprint with id")
			_, err = y.tell(who, id, "a", "active")
			domaintest.Refused(t, name, err, fault.NotFound, "no story")
			_, err = y.Add(t.Context(), who, AddInput{SprintID: id, Story: Draft{ID: "b", Title: "x"}})
			domaintest.Refused(t, name, err, fault.NotFound, "no sprint with id")
			_, err = y.Complete(t.Context(), who, CompleteInput{SprintID: id})
			domaintest.Refused(t, name, err, fault.NotFound, "no sprint with id")
			if err := y.StoryEnded(t.Context(), who.User, id); err != nil {
				t.Error(err)
			}
		}
		// A document that is no sprint, or no story of it, is not found either.
		for _, other := range []string{docID(id, "a"), "none"} {
			_, err := y.Get(t.Context(), alpha, GetInput{SprintID: other})
			domaintest.Refused(t, other, err, fault.NotFound)
		}
		other := y.plan(stories("x 1"))
		_, err := y.tell(beta, other, "a", "active")
		domaintest.Refused(t, "another sprint's story", err, fault.NotFound)
		dotted := y.plan(stories("a.b 1"))
		_, err = y.tell(beta, dotted+".a", "b", "active") // the id of the document is the same
		domaintest.Refused(t, "a story of no sprint", err, fault.NotFound)
		y.draws(id, "active ready:a | 1* a=queued")
	})
}

func TestAnIdempotencyKeyCreatesASprintAndAStoryOnce(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		in := CreateInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, ProjectName: "p", Branch: "b",
			Stories: stories("a 1")}
		first, err := y.Create(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		y.Pass(time.Hour)
		again, err := y.Create(t.Context(), alpha, in)
		if err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.Stories = stories("b 1")
		_, err = y.Create(t.Context(), alpha, in)
		domaintest.Refused(t, "another plan", err, fault.Precondition, `"k"`, "create_sprint")

		add := AddInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, SprintID: first.SprintID,
			Story: Draft{ID: "b", Title: "x"}}
		added, err := y.Add(t.Context(), gamma, add)
		if err != nil {
			t.Fatal(err)
		}
		// The repetition is answered even after the sprint takes no more stories.
		y.do(alpha, first.SprintID, "a", "skipped")
		y.do(alpha, first.SprintID, "b", "skipped")
		more, err := y.Add(t.Context(), gamma, add)
		if err != nil || !reflect.DeepEqual(more, added) {
			t.Errorf("%+v, first %+v, %v", more, added, err)
		}
		y.draws(first.SprintID, "completing ready: | 1 a=skipped | 2 b=skipped")
	})
}

func TestTheSprintOfAnUnboundKeyIsForAnyProgram(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		out, err := y.Create(t.Context(), loose, CreateInput{ProjectName: "p", Branch: "b",
			Stories: stories("a 1,b 1")})
		if err != nil {
			t.Fatal(err)
		}
		if k := y.kept(docID(out.SprintID, "a")); k.Target != task.Any || k.Source != "" || k.Verified {
			t.Errorf("%+v", k)
		}
		y.do(loose, out.SprintID, "a", "active")
		if k := y.kept(docID(out.SprintID, "a")); k.ClaimedBy != "key:0123456789ab" {
			t.Errorf("held by %q", k.ClaimedBy)
		}
		_, err = y.tell(domaintest.Bound("u", task.Any), out.SprintID, "b", "skipped")
		domaintest.Refused(t, "a program of that name", err, fault.Forbidden, "creator")
		_, err = y.tell(drift, out.SprintID, "b", "skipped")
		domaintest.Refused(t, "another key without a program", err, fault.Forbidden, "creator")
		y.do(loose, out.SprintID, "a", "complete")
		y.do(loose, out.SprintID, "b", "skipped")
		_, err = y.Complete(t.Context(), drift, CompleteInput{SprintID: out.SprintID})
		domaintest.Refused(t, "another key without a program", err, fault.Forbidden, "only key:0123456789ab, which created")
		if _, err := y.Complete(t.Context(), loose, CompleteInput{SprintID: out.SprintID}); err != nil {
			t.Error(err)
		}
	})
}
