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
			h.Start(t.Context(), alpha, StartInput{Request: "tabs or spaces?", AgentName: "alpha"}),
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
		got := domaintest.Must(h.Get(t.Context(), alpha, GetInput{}))(h.t)
		if !slices.Equal(got.Feedback, []Feedback{f}) ||
			!slices.Equal(got.State.Participants, []string{"alpha", "beta", "gamma"}) ||
			!slices.Equal(got.State.PendingParticipants, []string{"gamma"}) ||
			got.Participant.LastFeedbackSeen != "1" || got.State.SessionID != id ||
			got.State.RequestID != started.RequestID {
			t.Errorf("%+v %+v", got, got.Participant)
		}
		closed := domaintest.Must(h.Close(t.Context(), alpha, CloseInput{Conclusion: "so be it"}))(h.t)
		c := Conclusion{Author: "alpha", Verified: true, Content: "so be it", CreatedAt: h.Clock.Now()}
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

func TestAReaderJoinsNothingAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		if got := domaintest.Must(h.Get(t.Context(), reader, GetInput{AgentName: "eye"}))(h.t); got.SessionID != "" {
			t.Errorf("%+v", got)
		}
		id := h.start("alpha")
		h.send("beta", id, "x")
		before := h.get("alpha", id, "")
		h.Clock.Pass(time.Minute)
		cursor := ""
		for _, in := range []GetInput{{}, {SessionID: id}, {Cursor: "?"}} {
			in.AgentName = "eye"
			got := domaintest.Must(h.Get(t.Context(), reader, in))(h.t)
			if contents(got.Feedback) != "x" || got.Participant != nil || got.Request == nil || got.SessionID != id {
				t.Errorf("%+v", got)
			}
			cursor = got.NextCursor
		}
		again := domaintest.Must(h.Get(t.Context(), reader, GetInput{AgentName: "eye", Cursor: cursor}))(h.t)
		if len(again.Feedback) != 0 || again.State.Participants != nil {
			t.Errorf("%+v", again)
		}
		// A reader under the name of a participant leaves the participant's record unchanged, which it sees with the
		// participant's own key only.
		silent := unbound
		silent.ReadOnly = true
		got := domaintest.Must(h.Join(t.Context(), silent, JoinInput{AgentName: "alpha"}))(h.t)
		if *got.Participant != *before.Participant {
			t.Errorf("%+v, was %+v", got.Participant, before.Participant)
		}
		if got := domaintest.Must(h.Join(t.Context(), reader, JoinInput{AgentName: "alpha"}))(h.t); got.Participant != nil {
			t.Errorf("another key sees %+v", got.Participant)
		}
		if v := domaintest.Must(councils.Get(t.Context(), h.DB.User("u"), id))(h.t); len(v.Members) != 2 {
			t.Errorf("%+v", v)
		}
		if page, err := seats.Query(t.Context(), h.DB.User("u"), store.Query{Limit: 10}); err != nil ||
			len(page.Docs) != 2 {
			t.Errorf("%+v, %v", page.Docs, err)
		}
	})
}

func TestAListingIsNewestFirstByPageAndStatus(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		if out := h.list(ListInput{}); out.Sessions == nil || len(out.Sessions) != 0 {
			t.Errorf("%+v", out)
		}
		var all []string
		for range 3 {
			all = append([]string{h.start("alpha")}, all...)
			h.Clock.Pass(time.Second)
		}
		h.send("beta", all[1], "x")
		h.conclude("alpha", all[1])
		var got []string
		for cursor := ""; ; {
			out := h.list(ListInput{Limit: 2, Cursor: cursor})
			for _, v := range out.Sessions {
				got = append(got, v.ID)
			}
			if cursor = out.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("%v, want %v", got, all)
		}
		closed, open := h.list(ListInput{Status: Closed}).Sessions, h.list(ListInput{Status: Active}).Sessions
		if len(closed) != 1 || closed[0].ID != all[1] || closed[0].Conclusion.Content != "so be it" ||
			closed[0].Participants != 2 || closed[0].Responses != 1 ||
			closed[0].Title != "what of alpha?" || closed[0].CreatedBy != "alpha" || closed[0].RequestID == "" ||
			len(open) != 2 {
			t.Errorf("closed %+v, open %+v", closed, open)
		}
		_, err := h.List(t.Context(), unbound, ListInput{Cursor: "nonsense"})
		if domaintest.Fields(err) != "cursor" {
			t.Error(err)
		}
		if out, err := h.List(t.Context(), stranger, ListInput{}); err != nil || len(out.Sessions) != 0 {
			t.Errorf("a stranger sees %+v, %v", out, err)
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

func TestAResourceIsReadWithoutJoining(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		h.send("beta", id, "x")
		kind := h.Resources()[0]
		for _, c := range []identity.Caller{unbound, reader, domaintest.Bound("u", "gamma")} {
			doc, err := kind.Read(t.Context(), c, id)
			v, ok := doc.(ViewOutput)
			if err != nil || !ok || v.SessionID != id || contents(v.Feedback) != "x" ||
				v.Request.Content != "what of alpha?" || len(v.State.Participants) != 2 {
				t.Errorf("%+v, %v", doc, err)
			}
		}
		for _, id := range []string{"nope", ""} {
			_, err := kind.Read(t.Context(), unbound, id)
			domaintest.Says(t, "missing", err, fault.NotFound, fmt.Sprintf("no council with id %q", id))
		}
		_, err := kind.Read(t.Context(), stranger, id)
		domaintest.Says(t, "a stranger", err, fault.NotFound, fmt.Sprintf("no council with id %q", id))
		h.start("beta")
		page, err := kind.List(t.Context(), reader, "", 1)
		if err != nil || len(page.Items) != 1 || page.Next == "" {
			t.Errorf("%+v, %v", page, err)
		}
		rest, err := kind.List(t.Context(), reader, page.Next, 2)
		if err != nil || len(rest.Items) != 1 || rest.Next != "" || page.Items[0] == rest.Items[0] ||
			!strings.HasPrefix(rest.Items[0].Title, "what of ") {
			t.Errorf("%+v, %v", rest, err)
		}
	})
}
