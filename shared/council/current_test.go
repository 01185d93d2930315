package council

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestACallWithoutAnIDUsesTheCurrentCouncilOfItsAgent(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		said := func(agent, want string) {
			t.Helper()
			for i, cursor := range []string{"", h.get(agent, "", "").NextCursor} {
				if got := h.get(agent, "", cursor).SessionID; got != want {
					t.Errorf("%s reads %q, want %q (%d)", agent, got, want, i)
				}
			}
			if want != "" {
				if got := h.send(agent, "", "x").State.SessionID; got != want {
					t.Errorf("%s answers %q, want %q", agent, got, want)
				}
			}
		}
		if got := h.get("beta", "", ""); got.SessionID != "" || got.Request != nil || got.Participant != nil ||
			got.State.Status != "" || got.State.Participants == nil {
			t.Errorf("with no council: %+v", got)
		}
		one := h.start("alpha")
		said("beta", one)
		h.Clock.Pass(time.Second)
		two := h.start("alpha")
		said("alpha", two)
		said("beta", one)
		said("gamma", two) // The newest one, which it joins.
		h.join("beta", two)
		said("beta", two)
		h.join("beta", one) // Joining again makes it the current council again.
		said("beta", one)
		h.send("delta", one, "x") // Responding joins.
		said("delta", one)
		h.conclude("alpha", one)
		said("beta", two)
		said("delta", two)
		h.conclude("alpha", two)
		for _, agent := range []string{"alpha", "beta", "gamma", "epsilon"} {
			if got := h.get(agent, "", ""); got.SessionID != two || got.State.Status != Closed {
				t.Errorf("%s reads %s, %s", agent, got.SessionID, got.State.Status)
			}
			domaintest.Says(t, agent, h.calls(unbound, agent, "")["send"](t.Context()), fault.Precondition,
				"Council session is closed.")
		}
	})
}

// The agents of a council that ended are in the next one with any call that names none.
func TestAfterACouncilEndedCallsAreAboutTheNextOne(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		first := h.start("alpha")
		for _, agent := range []string{"beta", "gamma", "delta", "epsilon"} {
			h.send(agent, "", "to the first")
		}
		cursor := h.get("delta", "", "").NextCursor
		h.conclude("alpha", first)
		h.Clock.Pass(time.Second)
		second := h.start("alpha")
		if got := h.join("beta", ""); got.SessionID != second || got.Request == nil || len(got.Feedback) != 0 {
			t.Errorf("beta joined %+v", got)
		}
		if got := h.send("gamma", "", "to the second"); got.State.SessionID != second || got.Feedback.ID != "1" {
			t.Errorf("gamma answered %+v", got)
		}
		if got := h.get("delta", "", cursor); got.SessionID != second || contents(got.Feedback) != "to the second" ||
			got.Participant == nil || got.Participant.AgentName != "delta" || got.Participant.LastFeedbackSeen != "1" {
			t.Errorf("delta reads %+v", got)
		}
		if got := h.rank("epsilon", "", "A"); got.SessionID != second {
			t.Errorf("epsilon ranked %+v", got)
		}
		if got := h.conclude("alpha", ""); got.SessionID != second {
			t.Errorf("alpha closed %s", got.SessionID)
		}
		if got := h.get("delta", first, ""); got.SessionID != first || len(got.Feedback) != 4 {
			t.Errorf("by its id the first reads %+v", got)
		}
	})
}

func TestACallThatIsGivenTheNewestCouncilIsToldOfAtMostFiveOthers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		var all []Other
		for i := range 8 {
			agent := fmt.Sprintf("opener%d", i)
			all = append([]Other{{SessionID: h.start(agent), CreatedBy: agent, Title: "what of " + agent + "?"}}, all...)
			h.Clock.Pass(time.Second)
		}
		newest := all[0].SessionID
		replies := map[string]func(agent string) State{
			"join":   func(agent string) State { return h.join(agent, "").State },
			"get":    func(agent string) State { return h.get(agent, "", "").State },
			"send":   func(agent string) State { return h.send(agent, "", "x").State },
			"rank":   func(agent string) State { h.send("opener0", newest, "x"); return h.rank(agent, "", "A").State },
			"reader": func(agent string) State { return h.peek(agent).State },
		}
		for name, call := range replies {
			if got := call(name); got.SessionID != newest || !slices.Equal(got.Others, all[1:6]) {
				t.Errorf("%s: %s, others %+v", name, got.SessionID, got.Others)
			}
			if got := h.get(name, newest, "").State; len(got.Others) != 0 {
				t.Errorf("%s by id: %+v", name, got.Others)
			}
			// It is in that council now, which is no choice of the server's any more.
			if got := h.get(name, "", "").State; got.SessionID != newest || len(got.Others) != 0 {
				t.Errorf("%s again: %s, %+v", name, got.SessionID, got.Others)
			}
		}
		if got := domaintest.Must(h.Close(t.Context(), person, CloseInput{AgentName: "ann", Conclusion: "x"}))(h.t); got.
			SessionID != newest || !slices.Equal(got.State.Others, all[1:6]) {
			t.Errorf("close: %+v", got)
		}
	})
}

// peek reads as a caller with read access, without a council.
func (h *fixture) peek(agent string) ViewOutput {
	h.t.Helper()
	return domaintest.Must(h.Get(h.t.Context(), reader, GetInput{AgentName: agent}))(h.t)
}

// The seat of an agent holds where so many councils are active that a look at the newest does not show it.
func TestAnAgentStaysInItsCouncilHoweverManyAreActive(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		own := h.start("alpha")
		h.send("beta", "", "x")
		for i := range maxActive + 1 {
			h.Clock.Pass(time.Second)
			h.start(fmt.Sprintf("opener%d", i))
		}
		if got := h.get("beta", "", ""); got.SessionID != own || contents(got.Feedback) != "x" || got.Participant == nil {
			t.Errorf("%+v", got)
		}
		h.conclude("alpha", own)
		if got := h.get("beta", "", ""); got.SessionID == own || got.State.Status != Active || len(got.Feedback) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Whoever waits without an id is told how its council ended, before it is in the next one.
func TestAWaitIsToldOfTheEndOfItsCouncilFirst(t *testing.T) {
	eachWatched(t, func(t *testing.T, h *fixture, looks <-chan struct{}) {
		first := h.start("alpha")
		cursor := h.get("beta", "", "").NextCursor
		h.Clock.Pass(time.Second)
		second := h.start("omega")
		got := h.waiting(GetInput{AgentName: "beta", Cursor: cursor}, looks)
		h.conclude("alpha", first)
		out := <-got
		if out.SessionID != first || out.State.Status != Closed || out.State.Conclusion == nil {
			t.Errorf("%+v", out)
		}
		if out := h.get("beta", "", out.NextCursor); out.SessionID != second || out.Request == nil {
			t.Errorf("%+v", out)
		}
	})
}
