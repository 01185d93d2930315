package app

import (
	"slices"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
)

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
			domaintest.Must(m, err)(t)
		}
		q, err := o.Signal.Ask(t.Context(), beta, op.Fill(signal.AskInput{
			Question: "which?",
			Options:  []string{"a", "b"},
			TTL:      60,
		}))
		domaintest.Must(q, err)(t)
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
		if len(v.Queues) != 1 || v.Queues[0] != (overview.Queue{Target: v.Claims[0].Target, Active: 1}) {
			t.Errorf("queues: %+v", v.Queues)
		}
		o.Pass(time.Minute)
		if v := o.overview(overview.Input{}); len(v.Questions) != 0 {
			t.Errorf("a question that expired: %+v", v.Questions)
		}
		other, err := o.Overview.Get(t.Context(), domaintest.Human("v"), op.Fill(overview.Input{}))
		domaintest.Must(other, err)(t)
		if len(other.Sessions)+len(other.Claims)+len(other.Questions)+len(other.Unread) != 0 {
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
				v, err := o.Overview.Get(ctx, domaintest.Human("u"), op.Fill(overview.Input{Since: known.Mark, WaitMs: 20_000}))
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
		domaintest.Must(beat, err)(t)
		renewed, err := o.Dispatch.Renew(t.Context(), beta, op.Fill(dispatch.RenewInput{TaskID: id, ClaimToken: 1}))
		domaintest.Must(renewed, err)(t)
		v := o.overview(overview.Input{Since: known.Mark, WaitMs: 1})
		if v.Mark != known.Mark || !v.Sessions[0].LastHeartbeat.Equal(o.Now()) ||
			!v.Claims[0].LeaseUntil.Equal(o.Now().Add(15*time.Minute)) {
			t.Errorf("%+v after %+v", v, known)
		}
	})
}

// An overview shows live sessions, not past ones.
func TestAnOverviewShowsTheSessionsThatAreLive(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		begin := func(id string, state pulse.State) {
			v, err := o.Pulse.Create(t.Context(), alpha,
				op.Fill(pulse.CreateInput{Name: id, SessionID: id, State: state}))
			domaintest.Must(v, err)(t)
		}
		begin("silent", pulse.Working)
		o.Pass(66 * time.Minute) // no sweep has run since
		begin("working", pulse.Working)
		o.Pass(time.Second)
		begin("pinned", pulse.Pinned)
		begin("complete", pulse.Complete)
		var shown []string
		for _, s := range o.overview(overview.Input{}).Sessions {
			shown = append(shown, s.ID)
		}
		if !slices.Equal(shown, []string{"pinned", "working"}) {
			t.Errorf("the overview shows the sessions %v, want pinned and working", shown)
		}
	})
}

func TestAnOverviewShowsWhatNobodyHasTakenUp(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx := t.Context()
		task := func(target, title string) {
			_, err := o.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: title, Target: target}))
			domaintest.Check(t, err)
		}
		begun := o.Now()
		task("beta", "first")
		o.Pass(time.Minute)
		task("Beta", "second")
		task("alpha", "third")
		alert := domaintest.Must(o.Signal.Alert(ctx, beta, op.Fill(signal.AlertInput{Message: "the disk is full", AlertType: "error"})))(t)
		send := func(target string) {
			_, err := o.Relay.Send(ctx, alpha, op.Fill(relay.SendInput{Message: "hi", Target: target, MessageType: "STATUS"}))
			domaintest.Check(t, err)
		}
		send("gamma")
		send("gamma/2")
		send("user")
		send("beta")
		v := o.overview(overview.Input{})
		if len(v.Queues) != 2 || v.Queues[0].Waiting != 2 || !identity.Same(v.Queues[0].Target, "beta") ||
			!v.Queues[0].Oldest.Equal(begun) || v.Queues[1].Waiting != 1 || v.Uncounted {
			t.Errorf("queues: %+v", v.Queues)
		}
		if len(v.Alerts) != 1 || v.Alerts[0].ID != alert.AlertID || v.Alerts[0].AlertType != "error" || v.Alerts[0].Source != "beta" {
			t.Errorf("alerts: %+v", v.Alerts)
		}
		if len(v.Strays) != 1 || v.Strays[0] != (overview.Unread{Program: "gamma", Count: 2}) {
			t.Errorf("mail to unknown names: %+v", v.Strays)
		}
		made := domaintest.Must(o.Keys.Create(ctx, domaintest.Human("u"), op.Fill(keys.CreateInput{Program: "gamma"})))(t)
		o.Pass(2 * time.Minute) // programs are known for a minute
		if v := o.overview(overview.Input{}); len(v.Strays) != 0 || len(v.Callers) != 0 {
			t.Errorf("once gamma has a key: %+v, %+v", v.Strays, v.Callers)
		}
		called := domaintest.Bound("u", "gamma")
		called.KeyID = made.ID
		domaintest.Check(t, o.Keys.Touch(ctx, called))
		o.Pass(2 * time.Minute)
		if v := o.overview(overview.Input{}); len(v.Callers) != 1 || v.Callers[0].Program != "gamma" {
			t.Errorf("once gamma has called: %+v", v.Callers)
		}
		domaintest.Must(o.Pulse.Create(ctx, domaintest.Bound("u", "gamma"), op.Fill(pulse.CreateInput{Name: "g"})))(t)
		if v := o.overview(overview.Input{}); len(v.Callers) != 0 {
			t.Errorf("once gamma has a session: %+v", v.Callers)
		}
	})
}
