package sprint

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

func TestACompletedSprintHasASummaryAndAPurgeTime(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1,c 1,d 2"))
		y.do(beta, id, "a", "active", "complete")
		y.do(beta, id, "b", "active", "failed")
		if k := y.kept(docID(id, "a")); !k.PurgeAt.IsZero() {
			t.Errorf("a story of a running sprint is purged at %v", k.PurgeAt)
		}
		y.Pass(90 * time.Minute)
		said := 7
		out, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id, Summary: Said{Failed: &said}})
		end := domaintest.Start.Add(90 * time.Minute)
		want := CompleteOutput{SprintID: id, Status: task.Done,
			Summary: Summary{Completed: 1, Failed: 7, Skipped: 2, Duration: 5400}, CompletedAt: end}
		if err != nil || out != want {
			t.Errorf("%+v, %v", out, err)
		}
		y.Pass(time.Hour)
		want.AlreadyCompleted = true
		if out, err = y.Complete(t.Context(), alpha, CompleteInput{SprintID: id}); err != nil || out != want {
			t.Errorf("again: %+v, %v", out, err)
		}
		y.draws(id, "done ready: | 1 a=complete b=failed c=skipped | 2 d=skipped")
		if v := y.get(id); !reflect.DeepEqual(v.Summary, &want.Summary) || !v.CompletedAt.Equal(end) ||
			v.Counts != (Counts{Complete: 1, Failed: 1, Skipped: 2}) {
			t.Errorf("%+v", v)
		}
		for _, doc := range []string{id, docID(id, "a"), docID(id, "b"), docID(id, "c")} {
			if k := y.kept(doc); !k.PurgeAt.Equal(end.Add(task.Retention)) {
				t.Errorf("%s is purged at %v", doc, k.PurgeAt)
			}
		}
		for name, err := range map[string]error{
			"queued": second(y.tell(alpha, id, "b", "queued")), "skipped": second(y.tell(alpha, id, "b", "skipped")),
			"added": second(y.add(alpha, id, "x", "")),
		} {
			domaintest.Refused(t, name, err, fault.Precondition, "new sprint")
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestASprintWithAnActiveStoryIsNotCompleted(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1,c 1"))
		y.do(beta, id, "a", "active")
		y.do(gamma, id, "c", "active")
		_, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id})
		domaintest.Refused(t, "while active", err, fault.Precondition, "a (by beta), c (by gamma)")
		y.draws(id, "active ready:b | 1* a=active b=queued c=active")
		y.do(alpha, id, "c", "skipped")
		y.do(beta, id, "a", "complete")
		if out, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id}); err != nil ||
			out.Summary != (Summary{Completed: 1, Skipped: 2}) {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestTheCreatorAndAHumanMayCompleteASprint(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		for name, c := range map[string]struct {
			who identity.Caller
			ok  bool
		}{"its creator": {alpha, true}, "a human": {person, true}, "an unbound key": {loose, false},
			"another program": {beta, false}} {
			id := y.plan(stories("a 1"))
			_, err := y.Complete(t.Context(), c.who, CompleteInput{SprintID: id})
			if c.ok && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !c.ok {
				domaintest.Refused(t, name, err, fault.Forbidden, `only "alpha"`, c.who.String())
				y.draws(id, "active ready:a | 1* a=queued")
			}
		}
	})
}

func TestTheLargestSprintIsCompletedInOneTransaction(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		var plan []Planned
		for i := range MaxStories {
			plan = append(plan, story(fmt.Sprintf("s%d %d", i, i/100)))
		}
		id := y.plan(plan)
		out, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: id})
		if err != nil || out.Summary.Skipped != MaxStories {
			t.Errorf("%+v, %v", out, err)
		}
		if v := y.get(id); v.Counts.Skipped != MaxStories || len(v.Waves) != 4 || v.Status != task.Done {
			t.Errorf("%+v", v.Counts)
		}
	})
}

// A crash after the commit of the last story leaves the sprint's document active.
func TestASprintWithoutStoryEndedReadsAsCompleting(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		kill := func() string {
			id := y.plan(stories("a 1,b 1"))
			y.do(beta, id, "a", "active", "complete")
			y.do(beta, id, "b", "active")
			y.change(docID(id, "b"), func(v *task.Task) { end(v, task.Done, y.Clock.Now()) })
			if s := y.kept(id).Status; s != task.Active {
				t.Fatal(s)
			}
			y.draws(id, "completing ready: | 1 a=complete b=complete")
			return id
		}
		id := kill()
		for range 2 { // the second call changes nothing
			if err := y.StoryEnded(t.Context(), "u", id); err != nil || y.kept(id).Status != task.Completing {
				t.Errorf("told: %+v, %v", y.kept(id), err)
			}
		}
		if out, err := y.Complete(t.Context(), alpha, CompleteInput{SprintID: kill()}); err != nil ||
			out.Summary.Completed != 2 {
			t.Errorf("completed: %+v, %v", out, err)
		}
		open := y.plan(stories("a 1"))
		if err := y.StoryEnded(t.Context(), "u", open); err != nil || y.kept(open).Status != task.Active {
			t.Errorf("a sprint with an open story: %+v, %v", y.kept(open), err)
		}
	})
}
