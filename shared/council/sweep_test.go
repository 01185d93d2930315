package council

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// rest counts the documents of all councils and seats, and those below the given council.
func (h *fixture) rest(id string) (n int) {
	h.t.Helper()
	u, all := h.DB.User("u"), store.Query{Limit: store.MaxLimit}
	add := func(some int, err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
		n += some
	}
	add(tally(councils.Query(h.t.Context(), u, all)))
	add(tally(requests.Query(h.t.Context(), u, all)))
	add(tally(ballots.Query(h.t.Context(), u, all)))
	add(tally(seats.Query(h.t.Context(), u, all)))
	add(tally(participants.Under(id).Query(h.t.Context(), u, all)))
	add(tally(responses.Under(id).Query(h.t.Context(), u, all)))
	return n
}

func tally[T any](p store.Page[T], err error) (int, error) { return len(p.Docs), err }

func TestAnAbandonedCouncilIsClosedWithAReason(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		quiet, lively, closed := h.start("alpha"), h.start("beta"), h.start("gamma")
		h.conclude("gamma", closed)
		h.Clock.Pass(Patience - time.Hour)
		if n := h.sweep(10); n != 0 {
			t.Errorf("%d handled too early", n)
		}
		h.get("alpha", quiet, "") // Reading does not extend a council.
		h.send("beta", lively, "x")
		h.Clock.Pass(time.Hour)
		if n := h.sweep(10); n != 1 {
			t.Errorf("%d handled", n)
		}
		got := h.get("alpha", quiet, "")
		if got.State.Status != Closed || got.State.Reason != "abandoned: nothing happened here for 7 days" ||
			got.State.Conclusion != nil || got.Request.Status != RequestClosed {
			t.Errorf("%+v", got)
		}
		domaintest.Says(t, "close", h.calls(unbound, "alpha", quiet)["close"](t.Context()), fault.Precondition,
			"Council session is already closed.")
		if got := h.get("beta", lively, ""); got.State.Status != Active {
			t.Errorf("%+v", got)
		}
		if got := h.get("gamma", closed, ""); got.State.Reason != "" || got.State.Conclusion == nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestAClosedCouncilIsGoneAfterThirtyDaysWithEverythingBelowIt(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		h.fill(id, 2*purgeBatch+50)
		h.send("beta", id, "x")
		h.rank("beta", id, "A")
		h.conclude("alpha", id)
		h.Clock.Pass(Retention - time.Second)
		if n := h.sweep(10); n != 0 || contents(h.get("beta", id, "").Feedback) != count(1, 20) {
			t.Errorf("%d handled too early", n)
		}
		h.Clock.Pass(time.Second)
		// It is gone for readers before the sweep has deleted it.
		for name, call := range h.calls(unbound, "beta", id) {
			domaintest.Says(t, name, call(t.Context()), fault.NotFound, `no council with id "`+id+`"`)
		}
		if out := h.list(ListInput{}); len(out.Sessions) != 0 {
			t.Errorf("%+v", out)
		}
		if out := h.get("beta", "", ""); out.SessionID != "" {
			t.Errorf("%+v", out)
		}
		domaintest.Says(t, "send", h.calls(unbound, "beta", "")["send"](t.Context()), fault.Precondition,
			"No active session.")
		before := h.rest(id)
		if n := h.sweep(10); n != 1 || h.rest(id) != 0 || before < 2*purgeBatch {
			t.Errorf("%d handled, %d documents are left of %d", n, h.rest(id), before)
		}
		if n := h.sweep(10); n != 0 {
			t.Errorf("%d handled again", n)
		}
	})
}

func TestAPurgeLeavesOtherCouncilsAlone(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		old := h.start("alpha")
		h.send("beta", old, "x")
		h.rank("alpha", old, "A")
		h.rank("delta", old, "A")
		h.conclude("alpha", old)
		h.Clock.Pass(Retention)
		id := h.start("alpha")
		h.send("beta", id, "y")
		if got := h.rank("delta", "", "A"); got.SessionID != id || got.State.Counts.Rankings != 1 {
			t.Errorf("the old rankings count here: %+v", got)
		}
		h.join("gamma", id)
		// An agent whose current council is gone is like one that has joined none.
		if n := h.sweep(10); n != 1 {
			t.Errorf("%d handled", n)
		}
		h.Clock.Pass(time.Second)
		h.start("omega") // Now the current council of an agent is not the newest one.
		for _, agent := range []string{"alpha", "beta", "gamma"} {
			if got := h.get(agent, "", ""); got.SessionID != id || contents(got.Feedback) != "y" ||
				len(got.State.Participants) != 4 {
				t.Errorf("%s: %+v", agent, got)
			}
		}
	})
}

func TestASweepHandlesAtMostItsLimitAndResumes(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for range 3 {
			h.start("alpha")
		}
		h.Clock.Pass(Patience)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := h.SweepCouncils(ctx, store.NewAdmin(h.DB), 2); n != 0 || err == nil {
			t.Errorf("an interrupted sweep handled %d, %v", n, err)
		}
		for _, want := range []int{2, 1, 0} {
			if n := h.sweep(2); n != want {
				t.Errorf("%d handled, want %d", n, want)
			}
		}
		if out := h.list(ListInput{Status: Closed}); len(out.Sessions) != 3 {
			t.Errorf("%+v", out)
		}
	})
}

var errKilled = errors.New("killed")

// killed is a driver that fails the transaction with the number left.
type killed struct {
	store.Driver
	left int
}

func (d *killed) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	if d.left--; d.left == 0 {
		return errKilled
	}
	return d.Driver.Update(ctx, fn)
}

func TestAnInterruptedPurgeIsFinishedByTheNextSweep(t *testing.T) {
	eachWatched(t, func(t *testing.T, h *fixture, _ <-chan struct{}) {
		id := h.start("alpha")
		h.fill(id, purgeBatch+1)
		h.conclude("alpha", id)
		h.Clock.Pass(Retention)
		for _, after := range []int{1, 2, 2} { // Before the first batch, after it, and before the session.
			_, err := h.SweepCouncils(t.Context(), store.NewAdmin(store.New(&killed{h.driver, after}, schema())), 10)
			if !errors.Is(err, errKilled) || h.rest(id) == 0 {
				t.Errorf("killed in transaction %d: %v, %d documents are left", after, err, h.rest(id))
			}
		}
		if n := h.sweep(10); n != 1 || h.rest(id) != 0 {
			t.Errorf("%d handled, %d documents are left", n, h.rest(id))
		}
	})
}

// The sweep reads a council again before it closes it.
func TestACouncilWithActivitySinceItsListingIsNotAbandoned(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		h.Clock.Pass(Patience)
		due := h.Clock.Now()
		h.send("alpha", id, "x")
		if err := abandon(t.Context(), h.DB.User("u"), id, due); err != nil {
			t.Error(err)
		}
		if got := h.get("alpha", id, ""); got.State.Status != Active {
			t.Errorf("%+v", got.State)
		}
		for name, handle := range map[string]func(context.Context, *store.Tenant, string, time.Time) error{
			"abandon": abandon, "purge": purge,
		} {
			if err := handle(t.Context(), h.DB.User("u"), "nope", due); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
