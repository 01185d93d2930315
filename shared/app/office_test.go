package app

import (
	"slices"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// clock is a clock that the test moves, and a source of ids.
type clock struct {
	domaintest.Clock
	domaintest.IDs
}

func newClock() *clock { return &clock{} }

// office holds all services on an empty store, with keys for two programs.
type office struct {
	*App
	*clock
	t *testing.T
}

func eachOffice(t *testing.T, test func(*testing.T, *office)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, Schema(), func(t *testing.T, db *store.DB) {
		clock := newClock()
		o := &office{New(db, Ports{Now: clock.Now, NewID: clock.NewID}), clock, t}
		for _, program := range []string{"alpha", "beta"} {
			_, err := o.Keys.Create(t.Context(), domaintest.Human("u"), op.Fill(keys.CreateInput{Program: program}))
			if err != nil {
				t.Fatal(err)
			}
		}
		test(t, o)
	})
}

var alpha, beta = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta")

func (o *office) see(in overview.Input) overview.View {
	o.t.Helper()
	v, err := o.Overview.Get(o.t.Context(), domaintest.Human("u"), in)
	return domaintest.Must(v, err)(o.t)
}

// begin makes beta work on a task of alpha's in a session.
func (o *office) begin() (taskID string) {
	o.t.Helper()
	ctx := o.t.Context()
	s, err := o.Pulse.Create(ctx, beta, op.Fill(pulse.CreateInput{Name: "b", SessionID: "beta.1"}))
	domaintest.Must(s, err)(o.t)
	made, err := o.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: "build it", Target: "beta"}))
	domaintest.Must(made, err)(o.t)
	claim, err := o.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{
		TaskID:       made.TaskID,
		SessionID:    "beta.1",
		LeaseSeconds: 86_400,
	}))
	domaintest.Must(claim, err)(o.t)
	return made.TaskID
}

func TestAnOverviewShowsSessionsClaimsQuestionsAndUnreadMail(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		v := o.see(overview.Input{})
		if v.Sessions == nil || v.Claims == nil || v.Questions == nil || v.Unread == nil || v.Mark == "" {
			t.Errorf("of nothing: %+v", v)
		}
		id := o.begin()
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
		v = o.see(overview.Input{})
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
		if v := o.see(overview.Input{}); len(v.Questions) != 0 {
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
	eachOffice(t, func(t *testing.T, o *office) {
		id := o.begin()
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
			known := o.see(overview.Input{})
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
				t.Errorf("%s did not wake who waits", name)
			}
		}
	})
}

func TestAHeartbeatDoesNotEndTheWaitOfAnOverview(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		id := o.begin()
		known := o.see(overview.Input{})
		o.Pass(time.Minute)
		beat, err := o.Pulse.Update(t.Context(), beta, op.Fill(pulse.UpdateInput{
			SessionID:     "beta.1",
			LastHeartbeat: true,
		}))
		domaintest.Must(beat, err)(t)
		renewed, err := o.Dispatch.Renew(t.Context(), beta, op.Fill(dispatch.RenewInput{TaskID: id, ClaimToken: 1}))
		domaintest.Must(renewed, err)(t)
		v := o.see(overview.Input{Since: known.Mark, WaitMs: 1})
		if v.Mark != known.Mark || !v.Sessions[0].LastHeartbeat.Equal(o.Now()) ||
			!v.Claims[0].LeaseUntil.Equal(o.Now().Add(15*time.Minute)) {
			t.Errorf("%+v after %+v", v, known)
		}
	})
}

// An overview shows live sessions, not past ones.
func TestAnOverviewShowsTheSessionsThatAreLive(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		begin := func(id string, state pulse.State) {
			v, err := o.Pulse.Create(t.Context(), alpha,
				op.Fill(pulse.CreateInput{Name: id, SessionID: id, State: state}))
			domaintest.Must(v, err)(t)
		}
		begin("silent", pulse.Working)
		o.Pass(66 * time.Minute) // no sweep has come by since
		begin("working", pulse.Working)
		o.Pass(time.Second)
		begin("pinned", pulse.Pinned)
		begin("complete", pulse.Complete)
		var shown []string
		for _, s := range o.see(overview.Input{}).Sessions {
			shown = append(shown, s.ID)
		}
		if !slices.Equal(shown, []string{"pinned", "working"}) {
			t.Errorf("the overview shows the sessions %v, want pinned and working", shown)
		}
	})
}
