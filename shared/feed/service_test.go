package feed_test

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/feed"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

func TestAWaitEndsWithTheFirstChange(t *testing.T) {
	t.Parallel()
	schema := store.NewSchema(store.LogDef(), task.Tasks.Def())
	storetest.Each(t, schema, func(t *testing.T, db *store.DB) {
		s, person := &feed.Service{DB: db}, domaintest.Human("u")
		add := func(id, title string) {
			domaintest.Check(t, db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				task.Tasks.Put(tx, id, task.Task{Type: "question", Title: title, Status: "created", Target: "user"})
				return nil
			}))
		}
		add("t0", "before")
		begun := domaintest.Must(s.Get(t.Context(), person, feed.Input{WaitMs: 60_000}))(t)
		if len(begun.Events) > 0 || begun.Truncated {
			t.Fatalf("without a cursor: %+v", begun)
		}
		go add("t1", "a question?")
		got := domaintest.Must(s.Get(t.Context(), person, feed.Input{Cursor: begun.Cursor, WaitMs: 60_000}))(t)
		if len(got.Events) != 1 || got.Truncated || got.More {
			t.Fatalf("%+v", got)
		}
		e := got.Events[0]
		if e.EventID == "" || time.Since(e.At).Abs() > time.Hour {
			t.Errorf("%+v", e)
		}
		e.EventID, e.At = "", time.Time{}
		want := feed.Event{Kind: "question", ID: "t1", Change: store.Updated, Line: "a question?", State: "created", Program: "user"}
		if e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
		if other, err := s.Get(t.Context(), domaintest.Human("other"), feed.Input{Cursor: begun.Cursor}); !fault.Is(err, fault.Invalid) {
			t.Errorf("with the cursor of another user: %+v, %v", other, err)
		}
	})
}

func TestAKeyWithScopesSeesTheChangesOfItsToolsetsAlone(t *testing.T) {
	t.Parallel()
	schema := store.NewSchema(store.LogDef(), task.Tasks.Def())
	storetest.Each(t, schema, func(t *testing.T, db *store.DB) {
		s, person := &feed.Service{DB: db}, domaintest.Human("u")
		add := func(id string, kind task.Type) {
			domaintest.Check(t, db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				task.Tasks.Put(tx, id, task.Task{Type: kind, Title: "secret", Status: "created", Target: "user"})
				return nil
			}))
		}
		begin := domaintest.Must(s.Get(t.Context(), person, feed.Input{}))(t).Cursor
		add("w", task.Work)
		add("q", task.Question)
		for _, c := range []struct {
			name   string
			scopes []string
			want   string
		}{
			{"no scopes", nil, "wq"}, {"reading", []string{"read"}, "wq"}, {"the console", []string{"console"}, "wq"},
			{"the toolset of the feed", []string{"pulse"}, ""}, {"questions", []string{"pulse", "signal"}, "q"},
			{"tasks, reading", []string{"read", "pulse", "dispatch"}, "w"},
		} {
			narrow := person
			narrow.Scopes = c.scopes
			got := domaintest.Must(s.Get(t.Context(), narrow, feed.Input{Cursor: begin, WaitMs: 1}))(t)
			ids := ""
			for _, e := range got.Events {
				ids += e.ID
			}
			if ids != c.want {
				t.Errorf("%s: sees %q, want %q", c.name, ids, c.want)
			}
			if c.want == "" { // what it does not see does not end its wait, and is behind it afterwards
				later := domaintest.Must(s.Get(t.Context(), person, feed.Input{Cursor: got.Cursor, WaitMs: 1}))(t)
				if len(later.Events) > 0 {
					t.Errorf("after its cursor there are %+v", later.Events)
				}
			}
		}
	})
}
