package pulse

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	w := newWorld(t, db)
	for _, id := range []string{"s", "s2"} {
		w.create(alpha, CreateInput{SessionID: id})
	}
	hold := func(name string, most domaintest.AtMost, call func()) {
		t.Helper()
		w.Pass(time.Second)
		rpcs.Hold(t, name, most, call)
	}
	hold("a new session", 1, func() { w.create(alpha, CreateInput{}) })
	hold("one with an id", 2, func() { w.create(alpha, CreateInput{SessionID: "s3"}) })
	hold("with an idempotency key", 3, func() {
		w.create(alpha, CreateInput{SessionID: "s4", Idempotency: op.Idempotency{IdempotencyKey: "k"}})
	})
	hold("a beat", 2, func() { w.update(alpha, UpdateInput{SessionID: "s", LastHeartbeat: true}) })
	hold("an update", 2, func() {
		w.update(alpha, UpdateInput{SessionID: "s", Progress: new(50), Status: new("x"), State: Complete})
	})
	hold("an update without id", 2, func() { w.update(alpha, UpdateInput{Progress: new(51)}) })
	hold("a listing", 2, func() { w.list(alpha, ListInput{Limit: 50, ProgramID: "alpha", IncludeArchived: true}) })
	hold("a listing of nothing", 1, func() { w.list(alpha, ListInput{ProgramID: "nobody"}) })
	hold("programs", 1, func() { domaintest.Must(w.Programs(t.Context(), "u"))(t) })
}
