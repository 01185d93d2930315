package app

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
)

// An overview shows live sessions, not past ones.
func TestAnOverviewShowsTheSessionsThatAreLive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		agent := bound("u", "alpha")
		begin := func(id, state string) {
			w.must(agent, "create_session", map[string]any{"name": id, "sessionId": id, "state": state})
		}
		begin("silent", "working")
		w.now = w.now.Add(66 * time.Minute) // no sweep has come by since
		begin("working", "working")
		w.now = w.now.Add(time.Second)
		begin("pinned", "pinned")
		begin("complete", "complete")
		shown := []string{}
		for _, s := range w.must(human("u"), "get_overview", map[string]any{})["sessions"].([]any) {
			shown = append(shown, fmt.Sprint(s.(map[string]any)["id"]))
		}
		if fmt.Sprint(shown) != "[pinned working]" {
			t.Errorf("the overview shows the sessions %v, want pinned and working", shown)
		}
	})
}

func TestAnOverviewShowsSessionsClaimsQuestionsAndUnreadMail(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		v := o.overview(overview.Input{})
		if v.Sessions == nil || v.Claims == nil || v.Questions == nil || v.Unread == nil || v.Mark == "" {
			t.Errorf("of nothing: %+v", v)
		}
		id := o.startTask()
		for range 2 {
			m, err := o.Relay.Send(t.Context(), beta, op.Fill(relay.SendInput{
				Message:     "hi",
				Target:      "alpha",
				MessageType: "STATUS",
			}))
			must(o, m, err)
		}
		q, err := o.Signal.Ask(t.Context(), beta, op.Fill(signal.AskInput{
			Question: "which?",
			Options:  []string{"a", "b"},
			TTL:      60,
		}))
		must(o, q, err)
		v = o.overview(overview.Input{})
		if len(v.Sessions) != 1 || v.Sessions[0].ID != "beta.1" || v.Sessions[0].Program != "beta" ||
			!v.Sessions[0].LastHeartbeat.Equal(o.Now()) {
			t.Errorf("sessions: %+v", v.Sessions)
		}
		if len(v.Claims) != 1 || v.Claims[0].ID != id || v.Claims[0].ClaimedBy != "beta" ||
			!v.Claims[0].LeaseUntil.Equal(o.Now().Add(24*time.Hour)) {
			t.Errorf("claims: %+v", v.Claims)
		}
		if len(v.Questions) != 1 || v.Questions[0].ID != q.QuestionID || v.Questions[0].Question != "which?" ||
			len(v.Questions[0].Options) != 2 {
			t.Errorf("questions: %+v", v.Questions)
		}
		if len(v.Unread) != 1 || v.Unread[0] != (overview.Unread{Program: "alpha", Count: 2}) {
			t.Errorf("unread: %+v", v.Unread)
		}
		o.Pass(time.Minute)
		if v := o.overview(overview.Input{}); len(v.Questions) != 0 {
			t.Errorf("a question that expired: %+v", v.Questions)
		}
		other, err := o.Overview.Get(t.Context(), human("v"), op.Fill(overview.Input{}))
		if must(o, other, err); len(other.Sessions)+len(other.Claims)+len(other.Questions)+len(other.Unread) != 0 {
			t.Errorf("another user sees %+v", other)
		}
	})
}

func TestAChangeEndsTheWaitOfAnOverview(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		id := o.startTask()
		ctx := t.Context()
		for name, change := range map[string]func() error{
			"a question": func() error {
				_, err := o.Signal.Ask(ctx, beta, op.Fill(signal.AskInput{Question: "which?"}))
				return err
			},
			"a message": func() error {
				_, err := o.Relay.Send(ctx, beta, op.Fill(relay.SendInput{
					Message:     "hi",
					Target:      "alpha",
					MessageType: "STATUS",
				}))
				return err
			},
			"a session": func() error {
				_, err := o.Pulse.Create(ctx, alpha, op.Fill(pulse.CreateInput{Name: "a"}))
				return err
			},
			"a task": func() error {
				_, err := o.Dispatch.Release(ctx, beta, op.Fill(dispatch.ReleaseInput{TaskID: id, ClaimToken: 1}))
				return err
			},
		} {
			known := o.overview(overview.Input{})
			got := make(chan overview.View, 1)
			go func() {
				v, err := o.Overview.Get(ctx, human("u"), op.Fill(overview.Input{Since: known.Mark, WaitMs: 20_000}))
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				got <- v
			}()
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if v := <-got; v.Mark == known.Mark {
				t.Errorf("%s did not end the wait", name)
			}
		}
	})
}

func TestAHeartbeatDoesNotEndTheWaitOfAnOverview(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		id := o.startTask()
		known := o.overview(overview.Input{})
		o.Pass(time.Minute)
		beat, err := o.Pulse.Update(t.Context(), beta, op.Fill(pulse.UpdateInput{
			SessionID:     "beta.1",
			LastHeartbeat: true,
		}))
		must(o, beat, err)
		renewed, err := o.Dispatch.Renew(t.Context(), beta, op.Fill(dispatch.RenewInput{TaskID: id, ClaimToken: 1}))
		must(o, renewed, err)
		v := o.overview(overview.Input{Since: known.Mark, WaitMs: 1})
		if v.Mark != known.Mark || !v.Sessions[0].LastHeartbeat.Equal(o.Now()) ||
			!v.Claims[0].LeaseUntil.Equal(o.Now().Add(15*time.Minute)) {
			t.Errorf("%+v after %+v", v, known)
		}
	})
}
