package signal

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestAnAlertIsStoredForItsHuman(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		out, err := d.Alert(t.Context(), alpha, AlertInput{Message: strings.Repeat("é", 300), AlertType: "error",
			Priority: task.High, Context: "ctx", SessionID: "s1"})
		if want := (AlertOutput{AlertID: "id-000001", AlertType: "error", CreatedAt: t0,
			ExpiresAt: t0.Add(time.Hour)}); err != nil || out != want {
			t.Fatalf("%+v, %v", out, err)
		}
		kept, err := task.Tasks.Get(t.Context(), d.DB.User("u"), "id-000001")
		if err != nil || kept.Type != task.Alert || kept.Target != "user" || kept.Source != "alpha" || !kept.Verified ||
			kept.Rank != 2 ||
			kept.AlertType != "error" || kept.Instructions != strings.Repeat("é", 300) ||
			utf8.RuneCountInString(kept.Title) != 200 || kept.Context != "ctx" {
			t.Errorf("%+v, %v", kept, err)
		}
		for name, c := range map[string]struct {
			route string
			want  int
		}{"asked for by type": {"alert:*", 1}, "of the human": {"alert:user", 1}, "in the queue": {task.Everywhere, 0},
			"in the human's queue": {"user", 0}} {
			page, err := task.Tasks.Query(t.Context(), d.DB.User("u"),
				store.Query{Where: []store.Cond{store.Eq("status", task.Created), store.Contains("routes", c.route)},
					Order: []string{"rank desc", "createdAt"}, Limit: 5})
			if err != nil || len(page.Docs) != c.want {
				t.Errorf("%s: %d, %v", name, len(page.Docs), err)
			}
		}
	})
}

func TestAnAlertHasTheTypeInfoByDefault(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		out, err := d.Alert(t.Context(), person, AlertInput{Message: "done", TTL: 60})
		if want := (AlertOutput{AlertID: "id-000001", AlertType: "info", CreatedAt: t0,
			ExpiresAt: t0.Add(time.Minute)}); err != nil || out != want {
			t.Fatalf("%+v, %v", out, err)
		}
		kept, err := task.Tasks.Get(t.Context(), d.DB.User("u"), "id-000001")
		if err != nil || kept.Verified || kept.Priority != task.Normal || kept.Title != "done" {
			t.Errorf("%+v, %v", kept, err)
		}
	})
}

func TestARepeatedAlertWithAKeyIsOneAlert(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		in := AlertInput{Message: "m"}
		in.IdempotencyKey = "k"
		first, err := d.Alert(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.Alert(t.Context(), alpha, in); err != nil || again != first {
			t.Errorf("%+v, %v; first %+v", again, err, first)
		}
	})
}

func TestAWaitEndsWhenItsQuestionExpires(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id := d.ask(AskInput{TTL: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		reads := d.Reads()
		go func() { // the clock advances after the call has read it
			for range 2 {
				<-reads
			}
			d.Pass(time.Second)
		}()
		out, err := d.Response(ctx, alpha, ResponseInput{QuestionID: id, WaitMs: 55_000})
		if err != nil || out.Status != Expired {
			t.Errorf("%+v, %v", out, err)
		}
	})
}
