package sprint

import (
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/task"
)

func TestSprintsAreListedByPageAndStatus(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		list := func(in ListInput) ListOutput {
			t.Helper()
			return domaintest.Must(y.List(t.Context(), alpha, in))(t)
		}
		if got := list(ListInput{}); got.Sprints == nil || len(got.Sprints) != 0 {
			t.Errorf("%+v", got)
		}
		var all []string
		for range 3 {
			all = append(all, y.plan([]Planned{{Draft: Draft{ID: "a", Title: "t"}}, {Draft: Draft{ID: "b", Title: "t"}, Wave: new(2)}}))
			y.Clock.Pass(time.Second)
		}
		domaintest.Must(y.Complete(t.Context(), alpha, CompleteInput{SprintID: all[1]}))(t)
		ids := func(in ListInput) (got []string) {
			for {
				page := list(in)
				for _, e := range page.Sprints {
					got = append(got, e.SprintID)
				}
				if in.Cursor = page.NextCursor; in.Cursor == "" {
					return got
				}
			}
		}
		for _, limit := range []int{1, 2, 20} {
			if got := ids(ListInput{Limit: limit}); !slices.Equal(got, all) {
				t.Errorf("by %d: %v, want %v", limit, got, all)
			}
		}
		if got := ids(ListInput{Status: task.Active}); !slices.Equal(got, []string{all[0], all[2]}) {
			t.Errorf("active are %v", got)
		}
		done := list(ListInput{Status: task.Done}).Sprints
		if len(done) != 1 || done[0].SprintID != all[1] || done[0].Stories != 2 || done[0].Waves != 2 || done[0].Summary == nil ||
			done[0].Summary.Skipped != 2 || done[0].ProjectName == "" || done[0].CompletedAt.IsZero() {
			t.Errorf("%+v", done)
		}
		if got := domaintest.Must(y.List(t.Context(), domaintest.Bound("v", "alpha"), ListInput{}))(t); len(got.Sprints) != 0 {
			t.Errorf("another user sees %+v", got)
		}
	})
}
