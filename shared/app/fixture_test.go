package app

import (
	"testing"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// fixture holds all services on an empty store, with keys for two programs.
type fixture struct {
	*App
	*storetest.Clock
	t *testing.T
}

func eachStore(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, Schema(), func(t *testing.T, db *store.DB) {
		clock := &storetest.Clock{}
		o := &fixture{New(db, Ports{Now: clock.Now, NewID: clock.NewID}), clock, t}
		for _, program := range []string{"alpha", "beta"} {
			_, err := o.Keys.Create(t.Context(), human("u"), op.Fill(keys.CreateInput{Program: program}))
			if err != nil {
				t.Fatal(err)
			}
		}
		test(t, o)
	})
}

var alpha, beta = bound("u", "alpha"), bound("u", "beta")

func must[T any](o *fixture, v T, err error) T {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	return v
}

func (o *fixture) overview(in overview.Input) overview.View {
	o.t.Helper()
	v, err := o.Overview.Get(o.t.Context(), human("u"), in)
	return must(o, v, err)
}

// startTask makes beta claim a task of alpha's in a session.
func (o *fixture) startTask() (taskID string) {
	o.t.Helper()
	ctx := o.t.Context()
	s, err := o.Pulse.Create(ctx, beta, op.Fill(pulse.CreateInput{Name: "b", SessionID: "beta.1"}))
	must(o, s, err)
	made, err := o.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: "build it", Target: "beta"}))
	must(o, made, err)
	claim, err := o.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{
		TaskID:       made.TaskID,
		SessionID:    "beta.1",
		LeaseSeconds: 86_400,
	}))
	must(o, claim, err)
	return made.TaskID
}
