package dispatch

import (
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

func TestATaskReadsAsItWasCreated(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		in := CreateInput{
			Title:        "dream on",
			Target:       "beta",
			Instructions: "all night",
			Type:         task.Dream,
			Priority:     task.High,
			Action:       "parallel",
			Source:       "alpha",
			ProjectID:    "p1",
			TTL:          3600,
			ReplyTo:      "r1",
			ThreadID:     "th1",
			Fallback:     []string{"gamma"},
			Provenance:   &task.Provenance{Model: "m", CostTokens: 12, Confidence: 0.5},
			Dream:        &task.DreamSpec{Agent: "beta", BudgetCapUSD: 1.5, Branch: "b", TimeoutHours: 8},
		}
		out, err := q.Create(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		created := CreateOutput{
			TaskID:    "id-000001",
			Status:    task.Created,
			Source:    "alpha",
			Verified:  true,
			Target:    "beta",
			CreatedAt: t0,
			ExpiresAt: t0.Add(time.Hour),
		}
		if out != created {
			t.Errorf("created %+v", out)
		}
		want := View{
			ID:           "id-000001",
			Type:         task.Dream,
			Title:        in.Title,
			Instructions: in.Instructions,
			Status:       task.Created,
			Priority:     task.High,
			Action:       "parallel",
			Source:       "alpha",
			Verified:     true,
			Target:       "beta",
			Fallback:     in.Fallback,
			ProjectID:    "p1",
			ReplyTo:      "r1",
			ThreadID:     "th1",
			Provenance:   in.Provenance,
			CreatedAt:    t0,
			ExpiresAt:    t0.Add(time.Hour),
			Dream:        in.Dream,
		}
		if got := q.get("id-000001"); !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v", got)
		}
		listed, err := q.List(t.Context(), beta, ListInput{Target: "beta"})
		if err != nil || len(listed.Tasks) != 1 || !reflect.DeepEqual(listed.Tasks[0], want) || listed.NextCursor != "" {
			t.Errorf("listed %+v, %v", listed, err)
		}
	})
}

func TestOmittedFieldsHaveDefaults(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		got := q.get(q.create(loose, CreateInput{Target: "beta"}))
		want := View{
			ID:        "id-000001",
			Type:      task.Work,
			Title:     "do it",
			Status:    task.Created,
			Priority:  task.Normal,
			Action:    "queue",
			Target:    "beta",
			CreatedAt: t0,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

func TestABoundKeyCreatesTasksAsItsProgramOnly(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		_, err := q.Create(t.Context(), alpha, CreateInput{Title: "x", Target: "beta", Source: "gamma"})
		domaintest.Refused(t, "another's name", err, fault.Forbidden, `"alpha"`, `"gamma"`)
		if v := q.get(q.create(alpha, CreateInput{Target: "beta"})); v.Source != "alpha" || !v.Verified {
			t.Errorf("no name: %+v", v)
		}
		if v := q.get(q.create(loose, CreateInput{Target: "beta", Source: "gamma"})); v.Source != "gamma" || v.Verified {
			t.Errorf("an unbound key: %+v", v)
		}
		if got := q.list(beta, ListInput{}); got != "do it do it" {
			t.Errorf("what was refused is there: %s", got)
		}
	})
}

func TestOnlyADreamHasADreamSpec(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		_, err := q.Create(t.Context(), alpha, CreateInput{Title: "x", Target: "beta", Dream: &task.DreamSpec{Agent: "beta"}})
		if domaintest.Fields(err) != "dream" {
			t.Error(err)
		}
	})
}

func TestAnIdempotencyKeyCreatesATaskOnce(t *testing.T) {
	each(t, func(t *testing.T, q *queue) {
		in := CreateInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, Title: "x", Target: "beta"}
		first, err := q.Create(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		q.Pass(time.Hour)
		again, err := q.Create(t.Context(), alpha, in)
		if err != nil || again != first {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.Title = "y"
		_, err = q.Create(t.Context(), alpha, in)
		domaintest.Refused(t, "another input", err, fault.Precondition, `"k"`, "create_task")
		if got := q.list(beta, ListInput{}); got != "x" {
			t.Errorf("there is %s", got)
		}
	})
}
