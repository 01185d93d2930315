package council

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

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
		// A reader under the name of a participant leaves the participant's record unchanged.
		got := domaintest.Must(h.Join(t.Context(), reader, JoinInput{AgentName: "alpha"}))(h.t)
		if *got.Participant != *before.Participant {
			t.Errorf("%+v, was %+v", got.Participant, before.Participant)
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
