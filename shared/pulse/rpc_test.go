package pulse

import (
	"testing"
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	dial, counted := firestore.CountRPCs()
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: dial})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, schema())
	defer func() { _ = db.Close() }()
	w := newWorld(t, db)
	for _, id := range []string{"s", "s2"} {
		w.create(alpha, CreateInput{SessionID: id})
	}
	for _, c := range []struct {
		name string
		most int
		call func()
	}{
		{"a new session", 1, func() { w.create(alpha, CreateInput{}) }},
		{"one with an id", 2, func() { w.create(alpha, CreateInput{SessionID: "s3"}) }},
		{"with an idempotency key", 3, func() {
			w.create(alpha, CreateInput{SessionID: "s4", Idempotency: op.Idempotency{IdempotencyKey: "k"}})
		}},
		{"a beat", 2, func() { w.update(alpha, UpdateInput{SessionID: "s", LastHeartbeat: true}) }},
		{"an update", 2, func() {
			w.update(alpha, UpdateInput{SessionID: "s", Progress: new(50), Status: new("x"), State: Complete})
		}},
		{"an update without id", 2, func() { w.update(alpha, UpdateInput{Progress: new(51)}) }},
		{"a listing", 2, func() { w.list(alpha, ListInput{Limit: 50, ProgramID: "alpha", IncludeArchived: true}) }},
		{"a listing of nothing", 1, func() { w.list(alpha, ListInput{ProgramID: "nobody"}) }},
		{"programs", 1, func() {
			if _, err := w.Programs(t.Context(), "u"); err != nil {
				t.Error(err)
			}
		}},
	} {
		w.clock.Pass(time.Second)
		sum := func() (n int) {
			for method, count := range counted() {
				if method != "Rollback" { // sent behind the call
					n += count
				}
			}
			return n
		}
		before := sum()
		c.call()
		if n := sum() - before; n > c.most || n == 0 {
			t.Errorf("%s sent %d RPCs, at most %d", c.name, n, c.most)
		}
	}
}
