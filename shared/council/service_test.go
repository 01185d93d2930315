package council

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func TestACouncilFromItsRequestToItsConclusion(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		started := domaintest.Must(
			h.Start(t.Context(), domaintest.Bound("u", "alpha"),
				StartInput{Request: "tabs or spaces?", AgentName: "alpha"}),
		)(h.t)
		id := started.SessionID
		if started.AgentName != "alpha" || started.RequestID == "" || started.RequestID == id ||
			started.State.Status != Active || !slices.Equal(started.State.Participants, []string{"alpha"}) {
			t.Errorf("%+v", started)
		}
		joined := h.join("beta", "")
		want := Request{
			ID:        started.RequestID,
			Content:   "tabs or spaces?",
			CreatedBy: "alpha",
			Verified:  true,
			CreatedAt: h.Clock.Now(),
			Status:    RequestOpen,
		}
		if joined.SessionID != id || joined.Request == nil || *joined.Request != want || len(joined.Feedback) != 0 {
			t.Errorf("%+v, request %+v", joined, joined.Request)
		}
		if p := joined.Participant; p == nil || p.AgentName != "beta" || p.LastRequestSeen != started.RequestID ||
			p.LastFeedbackSeen != "" || !p.LastSeen.Equal(h.Clock.Now()) {
			t.Errorf("%+v", p)
		}
		h.Clock.Pass(time.Minute)
		sent := h.send("beta", "", "tabs")
		f := Feedback{
			ID:        "1",
			Label:     "A",
			RequestID: started.RequestID,
			Author:    "beta",
			Content:   "tabs",
			CreatedAt: h.Clock.Now(),
		}
		if sent.AgentName != "beta" || sent.Feedback != f ||
			sent.State.Counts != (Counts{Participants: 2, Responses: 1}) {
			t.Errorf("%+v", sent)
		}
		h.join("gamma", id)
		got := h.get("alpha", "", "")
		if !slices.Equal(got.Feedback, []Feedback{f}) ||
			!slices.Equal(got.State.Participants, []string{"alpha", "beta", "gamma"}) ||
			!slices.Equal(got.State.PendingParticipants, []string{"gamma"}) ||
			got.Participant.LastFeedbackSeen != "1" || got.State.SessionID != id ||
			got.State.RequestID != started.RequestID {
			t.Errorf("%+v %+v", got, got.Participant)
		}
		closed := h.conclude("alpha", "")
		c := Conclusion{Author: "alpha", Content: "so be it", CreatedAt: h.Clock.Now()}
		if closed.SessionID != id || closed.Conclusion != c || closed.State.Status != Closed ||
			closed.State.Conclusion != nil {
			t.Errorf("%+v", closed)
		}
		for name, v := range map[string]ViewOutput{
			"a participant": h.get("beta", "", ""), "one who never came": h.get("delta", id, ""),
			"one who joins": h.join("epsilon", id),
		} {
			if v.State.Conclusion == nil || *v.State.Conclusion != c || v.Request.Status != RequestClosed ||
				len(v.Feedback) != 1 || len(v.State.Participants) != 3 {
				t.Errorf("%s reads %+v", name, v)
			}
		}
	})
}

func TestAStartClosesNothingAndDeletesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		first := h.start("alpha")
		h.send("beta", first, "an answer")
		h.Clock.Pass(time.Second)
		second := h.start("alpha")
		if got := h.get("alpha", "", ""); got.SessionID != second {
			t.Errorf("the current one is %s", got.SessionID)
		}
		if got := h.get("alpha", first, ""); got.State.Status != Active || contents(got.Feedback) != "an answer" {
			t.Errorf("%+v", got)
		}
		if got := h.get("alpha", "", ""); got.SessionID != second {
			t.Errorf("reading the first by its id made %s the current one", got.SessionID)
		}
		h.conclude("alpha", first)
		if got := h.send("alpha", "", "x"); got.State.SessionID != second {
			t.Errorf("%+v", got)
		}
	})
}

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
		several := fmt.Sprintf(
			"Several councils are active, and you have joined none: give session_id, one of %s (started by alpha at "+
				"2026-03-01T12:00:01Z), %s (started by alpha at 2026-03-01T12:00:00Z)",
			two, one)
		for name, call := range h.calls(unbound, "gamma", "") {
			domaintest.Says(t, name, call(t.Context()), fault.Precondition, several)
		}
		h.join("beta", two)
		said("beta", two)
		h.join("beta", one) // Joining again makes it the current council again.
		said("beta", one)
		h.send("gamma", two, "x") // Responding joins.
		said("gamma", two)
		h.conclude("alpha", one)
		if got := h.get("beta", "", ""); got.SessionID != one || got.State.Status != Closed {
			t.Errorf("beta sits in %s, %s", got.SessionID, got.State.Status)
		}
		if got := h.get("delta", "", ""); got.SessionID != two { // It is the only active one again.
			t.Errorf("delta joined %s", got.SessionID)
		}
	})
}

func TestRefusalsHaveTheirKindsAndMessages(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for _, name := range []string{"send", "rank", "close"} {
			domaintest.Says(t, name, h.calls(unbound, "beta", "")[name](t.Context()), fault.Precondition,
				"No active session.")
		}
		id := h.start("alpha")
		h.send("alpha", id, "x")
		for name, call := range h.calls(unbound, "beta", "nope") {
			domaintest.Says(t, name, call(t.Context()), fault.NotFound, `no council with id "nope"`)
		}
		for name, call := range h.calls(stranger, "beta", id) {
			domaintest.Says(t, "a stranger: "+name, call(t.Context()), fault.NotFound,
				fmt.Sprintf("no council with id %q", id))
		}
		h.conclude("alpha", id)
		for _, at := range []string{id, ""} {
			calls := h.calls(unbound, "alpha", at)
			domaintest.Says(t, "send", calls["send"](t.Context()), fault.Precondition, "Council session is closed.")
			domaintest.Says(t, "rank", calls["rank"](t.Context()), fault.Precondition, "Council session is closed.")
			domaintest.Says(t, "close", calls["close"](t.Context()), fault.Precondition,
				"Council session is already closed.")
		}
		bare := h.start("alpha")
		err := h.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			councils.Patch(tx, bare, store.Set("current_request_id", ""))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		domaintest.Says(t, "without a request", h.calls(unbound, "alpha", bare)["send"](t.Context()),
			fault.Precondition, "No active request.")
	})
}

func TestAKeyBoundToAProgramSpeaksOnlyAsThatProgram(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("beta")
		h.send("beta", id, "x")
		const words = `this key speaks for "alpha" and may not speak as "beta"`
		for name, call := range h.calls(domaintest.Bound("u", "alpha"), "beta", id) {
			domaintest.Says(t, name, call(t.Context()), fault.Forbidden, words)
		}
		_, err := h.Start(t.Context(), domaintest.Bound("u", "alpha"), StartInput{Request: "x", AgentName: "beta"})
		domaintest.Says(t, "start", err, fault.Forbidden, words)
		if got := h.get("gamma", id, "").State.Participants; !slices.Equal(got, []string{"beta", "gamma"}) {
			t.Errorf("%v take part", got)
		}
	})
}

func TestTwoAgentsUnderOneNameAreOneParticipant(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		h.join("beta", id)
		out := domaintest.Must(
			h.Send(t.Context(), domaintest.Bound("u", "beta"), SendInput{AgentName: "beta", Content: "x"}))(h.t)
		if !out.Feedback.Verified || !slices.Equal(out.State.Participants, []string{"alpha", "beta"}) {
			t.Errorf("%+v", out)
		}
		got := domaintest.Must(
			h.Get(t.Context(), identity.Caller{User: "u", KeyID: "another"}, GetInput{AgentName: "beta"}))(h.t)
		if got.SessionID != id || len(got.State.Participants) != 2 || got.Participant.Verified {
			t.Errorf("%+v %+v", got, got.Participant)
		}
		if h.send("beta", id, "y").Feedback.Verified {
			t.Error("an unbound key's response is verified")
		}
		h.Clock.Pass(time.Minute)
		domaintest.Must(
			h.Send(t.Context(), domaintest.Bound("u", "beta"), SendInput{AgentName: "beta", Content: "z"}))(h.t)
		p := domaintest.Must(h.Get(t.Context(), reader, GetInput{AgentName: "beta"}))(h.t).Participant
		if !p.Verified || !p.LastSeen.Equal(h.Clock.Now()) {
			t.Errorf("after a response the participant is %+v", p)
		}
	})
}

func TestPeersRankTheResponsesOfOthers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		for _, name := range []string{"beta", "gamma", "delta"} {
			h.send(name, id, "by "+name)
		}
		h.rank("alpha", "", "A", "B", "C")
		h.rank("beta", "", "c", "2")
		out := h.rank("alpha", id, "C", "A") // The last ranking counts.
		want := []Standing{{"C", 1, 2}, {"A", 2, 1}, {"B", 2, 1}}
		if out.SessionID != id || !slices.Equal(out.Ranking, []string{"C", "A"}) ||
			!slices.Equal(out.State.Ranking, want) || out.State.Counts.Rankings != 2 {
			t.Errorf("%+v", out)
		}
		if got := h.get("gamma", id, ""); !slices.Equal(got.State.Ranking, want) || got.Feedback[2].Label != "C" {
			t.Errorf("%+v", got)
		}
		for path, ranking := range map[string][]string{
			"ranking[1]":            {"A", "B"},
			"ranking[0]":            {"D"},
			"ranking[2]":            {"A", "C", "a"},
			"ranking[0] ranking[1]": {"ZZ", "2"},
		} {
			_, err := h.Rank(t.Context(), unbound, RankInput{AgentName: "gamma", Ranking: ranking})
			if domaintest.Fields(err) != path {
				t.Errorf("%v: %v", ranking, err)
			}
		}
		_, err := h.Rank(t.Context(), unbound, RankInput{AgentName: "gamma", Ranking: []string{"D", "B"}})
		domaintest.Says(t, "words", err, fault.Invalid,
			`ranking[0]: "D" is not a response of this council; use the labels that get_current_session_data shows; `+
				`ranking[1]: is your own response; rank those of the others`)
		if got := h.get("gamma", id, "").State; !slices.Equal(got.Ranking, want) || got.Counts.Rankings != 2 {
			t.Errorf("a refused ranking counts: %+v", got)
		}
		if got := h.rank("epsilon", id, "A").State.Participants; !slices.Contains(got, "epsilon") {
			t.Errorf("ranking does not join: %v", got)
		}
	})
}

func TestACallRepeatedWithItsKeyTakesEffectOnce(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		key := op.Idempotency{IdempotencyKey: "k"}
		start := StartInput{Idempotency: key, Request: "x", AgentName: "alpha"}
		first := domaintest.Must(h.Start(t.Context(), unbound, start))(h.t)
		if again := domaintest.Must(h.Start(t.Context(), unbound, start))(h.t); again.SessionID != first.SessionID ||
			again.RequestID != first.RequestID {
			t.Errorf("%+v, first %+v", again, first)
		}
		send := SendInput{Idempotency: key, AgentName: "beta", Content: "x"}
		sent := domaintest.Must(h.Send(t.Context(), unbound, send))(h.t)
		if again := domaintest.Must(h.Send(t.Context(), unbound, send))(h.t); fmt.Sprint(again) != fmt.Sprint(sent) {
			t.Errorf("%+v, first %+v", again, sent)
		}
		if got := h.get("alpha", "", "").Feedback; len(got) != 1 {
			t.Errorf("%+v", got)
		}
		send.Content = "y"
		if _, err := h.Send(t.Context(), unbound, send); !fault.Is(err, fault.Precondition) ||
			!strings.Contains(err.Error(), "another send_response") {
			t.Error(err)
		}
	})
}
