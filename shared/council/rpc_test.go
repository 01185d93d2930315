package council

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	h := over(t, db)
	ctx := t.Context()
	hold := func(name string, exactly domaintest.Exactly, call func()) {
		t.Helper()
		h.Clock.Pass(time.Second)
		rpcs.Hold(t, name, exactly, call)
	}
	with := func(key string) op.Idempotency { return op.Idempotency{IdempotencyKey: key} }
	id, other, cursor := h.start("alpha"), "", ""
	h.fill(id, 996)
	hold("a join of a new agent without id", 3, func() { h.join("beta", "") })
	hold("a join by id", 3, func() { h.join("gamma", id) })
	hold("a response", 3, func() { h.send("beta", "", "x") })
	hold("a response by id", 2, func() { h.send("beta", id, "x") })
	hold("the response of a new agent", 3, func() { h.send("epsilon", "", "x") })
	hold("a response with an idempotency key", 4, func() {
		domaintest.Must(h.Send(ctx, unbound, SendInput{Idempotency: with("k"), AgentName: "beta", Content: "x"}))(h.t)
	})
	hold("a start with an idempotency key", 2, func() {
		in := StartInput{Idempotency: with("k"), AgentName: "omega", Request: "?"}
		domaintest.Must(h.Start(ctx, unbound, in))(h.t)
	})
	hold("a start", 1, func() { other = h.start("psi") })
	hold("a join of a council without responses", 3, func() { h.join("tau", other) })
	hold("a join of a second council", 3, func() { h.join("tau", id) })
	hold("reading the last one joined", 3, func() { h.get("tau", "", "") })
	hold("a join once more", 3, func() { h.join("zeta", id) })
	hold("reading from the start", 3, func() { h.get("zeta", "", "") })
	hold("reading from the start, by id", 3, func() { cursor = h.get("zeta", id, "").NextCursor })
	hold("a page", 3, func() { cursor = h.get("zeta", "", cursor).NextCursor })
	hold("a page by id", 3, func() { cursor = h.get("zeta", id, cursor).NextCursor })
	hold("a poll that finds nothing new", 2, func() { h.get("zeta", "", h.current(id)) })
	hold("one by id", 2, func() { h.get("zeta", id, h.current(id)) })
	hold("one of a reader", 2, func() {
		domaintest.Must(h.Get(ctx, reader, GetInput{AgentName: "eye", Cursor: cursor, SessionID: id}))(h.t)
	})
	hold("a ranking", 3, func() { h.rank("beta", "", "E", "F") })
	hold("a ranking by id", 2, func() { h.rank("beta", id, "F", "E") })
	hold("a listing", 1, func() { h.list(ListInput{}) })
	hold("a close", 3, func() { h.conclude("beta", "") })
	hold("a close by id", 2, func() { h.conclude("beta", other) })
	hold("reading a closed one", 3, func() { cursor = h.get("beta", "", "").NextCursor })
	hold("a page of a closed one", 2, func() { h.get("beta", "", cursor) })
}

// current returns the cursor of a reader that has all of a council, without calling for it.
func (h *fixture) current(id string) string {
	return cursor{id, 1000, 1}.String()
}
