package council

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
)

// An example has no thousand responses; it would send each of them over both transports, in every suite. No example has
// a key that may only read, either.
func TestAThousandResponsesAddNoRPCsToACall(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	h := over(t, db)
	hold := func(name string, exactly domaintest.Exactly, call func()) {
		t.Helper()
		h.Clock.Pass(time.Second)
		rpcs.Hold(t, name, exactly, call)
	}
	id, cursor := h.start("alpha"), ""
	h.fill(id, 997)
	hold("a join of a new agent without id", 3, func() { h.join("beta", "") })
	hold("a join by id", 3, func() { h.join("gamma", id) })
	hold("a response", 3, func() { h.send("beta", "", "x") })
	hold("a response by id", 2, func() { h.send("beta", id, "x") })
	hold("the response of a new agent", 3, func() { h.send("epsilon", "", "x") })
	hold("a join once more", 3, func() { h.join("zeta", id) })
	hold("reading from the start", 3, func() { h.get("zeta", "", "") })
	hold("reading from the start, by id", 3, func() { cursor = h.get("zeta", id, "").NextCursor })
	hold("a page", 3, func() { cursor = h.get("zeta", "", cursor).NextCursor })
	hold("a page by id", 3, func() { cursor = h.get("zeta", id, cursor).NextCursor })
	hold("a poll that finds nothing new", 2, func() { h.get("zeta", "", h.current(id)) })
	hold("one by id", 2, func() { h.get("zeta", id, h.current(id)) })
	hold("a ranking", 3, func() { h.rank("beta", "", "E", "F") })
	hold("a page of a reader", 2, func() {
		in := GetInput{AgentName: "eye", Cursor: cursor, SessionID: id}
		domaintest.Must(h.Get(t.Context(), reader, in))(h.t)
	})
	hold("a close", 3, func() { h.conclude("beta", "") })
}

// current returns the cursor of a reader that has all of a council, without calling for it.
func (h *fixture) current(id string) string {
	return cursor{id, 1000, 1}.String()
}
