package dispatch

import (
	"context"
	"strconv"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestTheQueueIsSortedByPriorityThenAge(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, c := range []struct {
			title string
			p     task.Priority
		}{
			{"low-old", task.Low}, {"normal-old", ""}, {"high-old", task.High},
			{"low-new", task.Low}, {"normal-new", task.Normal}, {"high-new", task.High},
		} {
			q.create(alpha, CreateInput{Title: c.title, Target: "beta", Priority: c.p})
			q.Pass(time.Millisecond)
		}
		want := "high-old high-new normal-old normal-new low-old low-new"
		for _, in := range []ListInput{
			{}, {Target: "beta"}, {Status: "all"}, {Source: "alpha"}, {Type: task.Work},
			{Type: "all", Target: "beta", Source: "alpha", Status: task.Created},
		} {
			if got := q.list(beta, in); got != want {
				t.Errorf("%+v: %s", in, got)
			}
		}
	})
}

func TestEveryCombinationOfFiltersWorks(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		q.create(alpha, CreateInput{Title: "a-work", Target: "beta"})
		q.create(alpha, CreateInput{Title: "a-dream", Target: "beta", Type: task.Dream})
		q.create(gamma, CreateInput{Title: "g-work", Target: "delta"})
		done := q.create(gamma, CreateInput{Title: "g-done", Target: "beta"})
		token := q.claim(beta, done).ClaimToken
		if _, err := q.Complete(t.Context(), beta, CompleteInput{TaskID: done, ClaimToken: token}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			in   ListInput
			want string
		}{
			{ListInput{}, "a-work a-dream"},
			{ListInput{Status: "all"}, "a-work a-dream g-done"},
			{ListInput{Status: task.Done}, "g-done"},
			{ListInput{Status: task.Active}, ""},
			{ListInput{Type: task.Dream}, "a-dream"},
			{ListInput{Source: "gamma"}, ""},
			{ListInput{Source: "gamma", Status: "all"}, "g-done"},
			{ListInput{Target: "delta", Source: "gamma"}, "g-work"},
			{ListInput{Target: "beta", Source: "gamma", Status: "all"}, "g-done"},
			{ListInput{Target: "beta", Type: task.Work}, "a-work"},
			{ListInput{Target: "beta", Type: task.Work, Status: "all"}, "a-work g-done"},
			{ListInput{Target: "beta", Type: task.Dream, Source: "alpha", Status: task.Created}, "a-dream"},
			{ListInput{Target: "beta", Type: task.Dream, Source: "gamma", Status: "all"}, ""},
			{ListInput{Type: task.Dream, Source: "alpha", Status: "all"}, "a-dream"},
			{ListInput{Target: "nobody"}, ""},
		} {
			if got := q.list(beta, c.in); got != c.want {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
	})
}

func TestATaskAppearsToItsTargetAndItsFallbacks(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for _, c := range []CreateInput{
			{Title: "beta", Target: "beta"}, {Title: "any", Target: "any"},
			{Title: "fallback", Target: "delta", Fallback: []string{"beta", "gamma"}},
			{Title: "both", Target: "beta", Fallback: []string{"beta"}}, {Title: "delta", Target: "delta"},
			{Title: "any-too", Target: "any", Fallback: []string{"beta"}},
		} {
			q.create(alpha, c)
		}
		for target, want := range map[string]string{
			"beta": "beta any fallback both any-too", "gamma": "any fallback any-too", "delta": "any fallback delta any-too",
			"epsilon": "any any-too", "any": "any any-too", "BETA": "beta any fallback both any-too",
		} {
			if got := q.list(alpha, ListInput{Target: target}); got != want {
				t.Errorf("target %q: %s", target, got)
			}
		}
		for name, c := range map[string]struct {
			by   identity.Caller
			want string
		}{
			"a program's own":       {beta, "beta any fallback both any-too"},
			"a fallback's own":      {gamma, "any fallback any-too"},
			"a program in capitals": {domaintest.Bound("u", "BETA"), "beta any fallback both any-too"},
			"an unbound key's":      {loose, "any any-too"},
			"all, for a human":      {person, "beta any fallback both delta any-too"},
		} {
			if got := q.list(c.by, ListInput{}); got != c.want {
				t.Errorf("without a target, %s: %s", name, got)
			}
		}
	})
}

func TestAlertsAppearOnlyInQueriesForTheirType(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		q.put("alert", task.Task{
			Type:      task.Alert,
			Title:     "alert",
			Status:    task.Created,
			Target:    "user",
			Source:    "alpha",
			CreatedAt: t0,
		})
		q.put("question", task.Task{Type: task.Question, Title: "question", Status: task.Created, Target: "user", CreatedAt: t0})
		for _, c := range []struct {
			in   ListInput
			want string
		}{
			{ListInput{}, ""}, {ListInput{Target: "user"}, "question"},
			{ListInput{Status: "all", Type: "all"}, ""},
			{ListInput{Source: "alpha"}, ""}, {ListInput{Type: task.Alert}, "alert"},
			{ListInput{Type: task.Alert, Target: "user"}, "alert"},
			{ListInput{Type: task.Alert, Status: "all"}, "alert"}, {ListInput{Type: task.Alert, Target: "beta"}, ""},
			{ListInput{Type: task.Question}, "question"},
		} {
			if got := q.list(alpha, c.in); got != c.want {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
	})
}

func TestAnExpiredTaskIsNeitherListedNorClaimed(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		id := q.create(alpha, CreateInput{Title: "short", Target: "beta", TTL: 60})
		q.create(alpha, CreateInput{Title: "long", Target: "beta"})
		q.Pass(time.Minute - time.Millisecond)
		if got := q.list(beta, ListInput{Target: "beta"}); got != "short long" {
			t.Errorf("before: %s", got)
		}
		q.Pass(time.Millisecond)
		if got := q.list(beta, ListInput{Target: "beta"}); got != "long" {
			t.Errorf("after: %s", got)
		}
		_, err := q.Claim(t.Context(), beta, ClaimInput{TaskID: id})
		domaintest.Refused(t, "claim", err, fault.Precondition, "expired", "2026-03-01T12:01:00Z")
	})
}

// Expired tasks must not fill a page or end a wait: both are for tasks that can be claimed.
func TestExpiredTasksDoNotHideLiveOnes(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for i := range 4 {
			q.create(alpha, CreateInput{Title: "stale" + strconv.Itoa(i), Target: "beta", Priority: task.High, TTL: 60})
		}
		q.create(alpha, CreateInput{Title: "live", Target: "beta"})
		q.Pass(time.Hour)
		if got := q.list(beta, ListInput{Target: "beta", Limit: 3}); got != "live" {
			t.Errorf("the first page is %q", got)
		}
	})
}

func TestPagesShowEachTaskOnce(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		want := ""
		for i := range 7 {
			q.create(alpha, CreateInput{Title: strconv.Itoa(i), Target: "beta"})
			want += strconv.Itoa(i)
		}
		got, in := "", ListInput{Target: "beta", Limit: 3}
		for range 10 {
			out, err := q.List(t.Context(), beta, in)
			if err != nil || len(out.Tasks) > 3 {
				t.Fatal(len(out.Tasks), err)
			}
			for _, v := range out.Tasks {
				got += v.Title
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if got != want {
			t.Errorf("the pages are %s", got)
		}
	})
}

func TestABadCursorIsRefusedAtItsField(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for range 2 {
			q.create(alpha, CreateInput{Target: "beta"})
		}
		page, err := q.List(t.Context(), beta, ListInput{Limit: 1})
		if err != nil || page.NextCursor == "" {
			t.Fatal(page, err)
		}
		for name, in := range map[string]ListInput{
			"nonsense":          {Cursor: "nonsense"},
			"of another filter": {Cursor: page.NextCursor, Target: "gamma"},
			"not base64":        {Cursor: "%%%"},
		} {
			if _, err := q.List(t.Context(), beta, in); domaintest.Fields(err) != "cursor" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestInstructionsCanBeLeftOut(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		q.create(alpha, CreateInput{Target: "beta", Instructions: "all of it"})
		yes, no := true, false
		for name, c := range map[string]struct {
			include *bool
			want    string
		}{"left out": {nil, "all of it"}, "true": {&yes, "all of it"}, "false": {&no, ""}} {
			out, err := q.List(t.Context(), beta, ListInput{IncludeInstructions: c.include})
			if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Instructions != c.want {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		}
	})
}

func TestATaskEndsTheWaitOfAList(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		got, reads := make(chan string, 1), q.Reads()
		go func() {
			out, err := q.List(t.Context(), beta, ListInput{Target: "beta", WaitMs: 20_000})
			if err != nil {
				t.Error(err)
			}
			got <- titles(out)
		}()
		<-reads // the first read
		<-reads // and the read after the listener is established
		q.create(alpha, CreateInput{Title: "other", Target: "gamma"})
		q.create(alpha, CreateInput{Title: "mine", Target: "beta"})
		if titles := <-got; titles != "mine" {
			t.Errorf("woken for %q", titles)
		}
	})
}

func TestAWaitThatFindsNothingIsAnEmptyList(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		out, err := q.List(t.Context(), beta, ListInput{Target: "beta", WaitMs: 1})
		if err != nil || out.Tasks == nil || len(out.Tasks) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestAMissingTaskIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		for name, err := range map[string]error{
			"get":      domaintest.Err(q.Get(t.Context(), alpha, TaskInput{TaskID: "nope"})),
			"claim":    domaintest.Err(q.Claim(t.Context(), alpha, ClaimInput{TaskID: "nope"})),
			"renew":    domaintest.Err(q.Renew(t.Context(), alpha, RenewInput{TaskID: "nope", ClaimToken: 1})),
			"release":  domaintest.Err(q.Release(t.Context(), alpha, ReleaseInput{TaskID: "nope", ClaimToken: 1})),
			"complete": domaintest.Err(q.Complete(t.Context(), alpha, CompleteInput{TaskID: "nope"})),
		} {
			domaintest.Refused(t, name, err, fault.NotFound, `no task with id "nope"`)
		}
	})
}

func TestAStoryShowsItsSprint(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		work := q.create(alpha, CreateInput{Title: "work", Target: "beta"})
		story := task.Task{Type: task.Story, Title: "story", Status: task.Created, Priority: task.Normal, Target: "beta",
			Sprint: &task.SprintPart{ParentID: "sprint-1", StoryID: "parse", Wave: 2, Progress: 40}}
		story.Route()
		domaintest.Check(t, q.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			task.Tasks.Create(tx, "sprint-1.parse", story)
			return nil
		}))
		out := domaintest.Must(q.Service.List(t.Context(), beta, op.FillAs(beta, "get_tasks", ListInput{Type: task.Story})))(t)
		one := domaintest.Must(q.Get(t.Context(), beta, TaskInput{TaskID: "sprint-1.parse"}))(t)
		if len(out.Tasks) != 1 {
			t.Fatalf("%+v", out)
		}
		for _, v := range []View{out.Tasks[0], one} {
			if v.SprintID != "sprint-1" || v.StoryID != "parse" || v.Wave != 2 || v.Progress != 40 {
				t.Errorf("%+v", v)
			}
		}
		if v := domaintest.Must(q.Get(t.Context(), beta, TaskInput{TaskID: work}))(t); v.SprintID != "" || v.StoryID != "" {
			t.Errorf("%+v", v)
		}
	})
}
