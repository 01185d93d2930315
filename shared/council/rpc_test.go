package council

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
	h := over(t, db)
	ctx := t.Context()
	id, other, cursor := h.start("alpha"), "", ""
	h.fill(id, 996)
	with := func(key string) op.Idempotency { return op.Idempotency{IdempotencyKey: key} }
	for _, c := range []struct {
		name  string
		exact int
		call  func()
	}{
		{"a join of a new agent without id", 3, func() { h.join("beta", "") }},
		{"a join by id", 3, func() { h.join("gamma", id) }},
		{"a response", 3, func() { h.send("beta", "", "x") }},
		{"a response by id", 2, func() { h.send("beta", id, "x") }},
		{"the response of a new agent", 3, func() { h.send("epsilon", "", "x") }},
		{"a response with an idempotency key", 4, func() {
			must[SendOutput](h)(h.Send(ctx, loose, SendInput{Idempotency: with("k"), AgentName: "beta", Content: "x"}))
		}},
		{"a start with an idempotency key", 2, func() {
			h.Service.Start(ctx, loose, StartInput{Idempotency: with("k"), AgentName: "omega", Request: "?"})
		}},
		{"a start", 1, func() { other = h.start("psi") }},
		{"a join of a council without responses", 3, func() { h.join("tau", other) }},
		{"a join of a second council", 3, func() { h.join("tau", id) }},
		{"reading the last one joined", 3, func() { h.get("tau", "", "") }},
		{"a join once more", 3, func() { h.join("zeta", id) }},
		{"reading from the start", 3, func() { h.get("zeta", "", "") }},
		{"reading from the start, by id", 3, func() { cursor = h.get("zeta", id, "").NextCursor }},
		{"a page", 3, func() { cursor = h.get("zeta", "", cursor).NextCursor }},
		{"a page by id", 3, func() { cursor = h.get("zeta", id, cursor).NextCursor }},
		{"a poll that finds nothing new", 2, func() { h.get("zeta", "", h.current(id)) }},
		{"one by id", 2, func() { h.get("zeta", id, h.current(id)) }},
		{"one of a reader", 2, func() {
			must[ViewOutput](h)(h.Get(ctx, reader, GetInput{AgentName: "eye", Cursor: cursor, SessionID: id}))
		}},
		{"a ranking", 3, func() { h.rank("beta", "", "E", "F") }},
		{"a ranking by id", 2, func() { h.rank("beta", id, "F", "E") }},
		{"a listing", 1, func() { h.list(ListInput{}) }},
		{"a close", 3, func() { h.conclude("beta", "") }},
		{"a close by id", 2, func() { h.conclude("beta", other) }},
		{"reading a closed one", 3, func() { cursor = h.get("beta", "", "").NextCursor }},
		{"a page of a closed one", 2, func() { h.get("beta", "", cursor) }},
	} {
		h.Clock.Pass(time.Second)
		before := counted()
		c.call()
		n := total(counted()) - total(before)
		if n != c.exact {
			t.Errorf("%s sent %d RPCs, want %d: before %v, after %v", c.name, n, c.exact, before, counted())
		}
	}
}

// current is the cursor of one who knows all of a council, made without asking for it.
func (h *hall) current(id string) string {
	return cursor{id, 1000, 1}.String()
}

// total leaves out what is sent behind the call.
func total(counts map[string]int) (n int) {
	for method, c := range counts {
		if method != "Rollback" {
			n += c
		}
	}
	return n
}
