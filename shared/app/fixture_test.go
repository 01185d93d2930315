package app

import (
	"testing"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// clock is a clock that the test moves, and a source of ids.
type clock struct {
	domaintest.Clock
	domaintest.IDs
}

func newClock() *clock { return &clock{} }

// fixture holds all services on an empty store, with keys for two programs.
type fixture struct {
	*App
	*clock
	t *testing.T
}

func eachStore(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, Schema(), func(t *testing.T, db *store.DB) {
		clock := newClock()
		o := &fixture{New(db, Ports{Now: clock.Now, NewID: clock.NewID}), clock, t}
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

func (o *fixture) overview(in overview.Input) overview.View {
	o.t.Helper()
	v, err := o.Overview.Get(o.t.Context(), domaintest.Human("u"), in)
	return domaintest.Must(v, err)(o.t)
}

// startTask makes beta claim a task of alpha's in a session.
func (o *fixture) startTask() (taskID string) {
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
