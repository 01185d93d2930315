package council

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

var (
	alpha, beta = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta")
	person      = domaintest.Human("u")
	// drift is another agent's key that is bound to no program.
	drift = identity.Caller{User: "u", KeyID: "aaaabbbbccccdddd", Kind: identity.Agent}
)

func TestAKeyBoundToAProgramSpeaksAsItsCharactersOnly(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("beta")
		h.send("beta", id, "x")
		const words = `this key speaks for "alpha" and may not speak as "beta/Gandalf"`
		for name, call := range h.calls(alpha, "beta/Gandalf", id) {
			domaintest.Says(t, name, call(t.Context()), fault.Forbidden, words)
		}
		_, err := h.Start(t.Context(), alpha, StartInput{Request: "x", AgentName: "beta/Gandalf"})
		domaintest.Says(t, "start", err, fault.Forbidden, words)
		for given, want := range map[string]string{
			"":              "alpha",
			"ALPHA":         "alpha",
			"Gandalf":       "alpha/Gandalf",
			"alpha/Gandalf": "alpha/Gandalf",
			"gandalf":       "alpha/Gandalf", // names differ in case; the first spelling stands
			"Alpha/GANDALF": "alpha/Gandalf",
			"beta":          "alpha/beta",
			"e\u0301":       "alpha/\u00e9",
			"\u00c9":        "alpha/\u00e9",
		} {
			if want == "alpha/Gandalf" && given != want || given == "\u00c9" {
				h.sendAs(alpha, want, id)
			}
			if got := h.sendAs(alpha, given, id); got.AgentName != want || got.Feedback.Author != want ||
				!got.Feedback.Verified {
				t.Errorf("%q speaks as %+v", given, got)
			}
		}
		got := h.get("gamma", id, "").State.Participants
		slices.Sort(got)
		if want := []string{"alpha", "alpha/Gandalf", "alpha/beta", "alpha/\u00e9", "beta", "gamma"}; !slices.Equal(got, want) {
			t.Errorf("%q take part", got)
		}
	})
}

func (h *fixture) sendAs(c identity.Caller, agent, id string) SendOutput {
	h.t.Helper()
	return domaintest.Must(h.Send(h.t.Context(), c, SendInput{AgentName: agent, SessionID: id, Content: "x"}))(h.t)
}

func TestANameInACouncilIsTheCallersThatTookIt(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("opener")
		h.sendAs(unbound, "Gimli", id)
		for _, name := range []string{"Gimli", "gimli"} {
			for op, call := range h.calls(drift, name, id) {
				if op != "close" {
					domaintest.Says(t, op, call(t.Context()), fault.Forbidden,
						`key:0123456789ab takes part as "Gimli" already; choose another agent_name; this is `+
							`key:aaaabbbbcccc, which is bound to no program`)
				}
			}
		}
		// Polling with a cursor does not get around it.
		cursor := h.get("Gimli", id, "").NextCursor
		_, err := h.Get(t.Context(), drift, GetInput{AgentName: "Gimli", SessionID: id, Cursor: cursor})
		domaintest.Refused(t, "a poll", err, fault.Forbidden, "Gimli")
		if out := h.sendAs(unbound, "gimli", id); out.AgentName != "Gimli" || out.State.Counts.Participants != 2 {
			t.Errorf("the first spelling: %+v", out)
		}
		// A person may be anybody, and a program is itself whoever used its name before.
		if out := h.sendAs(person, "gimli", id); out.AgentName != "Gimli" || out.Feedback.Verified {
			t.Errorf("a person: %+v", out)
		}
		h.sendAs(person, "beta", id)
		if out := h.sendAs(beta, "", id); out.AgentName != "beta" || !out.Feedback.Verified {
			t.Errorf("a program: %+v", out)
		}
		if v := domaintest.Must(councils.Get(t.Context(), h.DB.User("u"), id))(h.t); len(v.Members) != 3 {
			t.Errorf("%+v", v.Members)
		}
	})
}

func TestAnUnboundKeyDoesNotTakeTheNameOfABoundOne(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("opener")
		c := unbound
		c.Reserved = []string{"alpha"}
		for _, name := range []string{"alpha", "ALPHA", "alpha/Gandalf", "Alpha/x"} {
			for op, call := range h.calls(c, name, id) {
				domaintest.Says(t, op+" as "+name, call(t.Context()), fault.Forbidden, `"alpha" has a key of its own; this key is `+
					`bound to no program and may not act under that name`)
			}
		}
		domaintest.Refused(t, "no name", h.calls(c, "", id)["join"](t.Context()), fault.Invalid, "agent_name: is required")
	})
}

// Two spellings of a name are one participant with one ballot, who does not rank its own response.
func TestARankerVotesOnceUnderTwoSpellings(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("opener")
		h.send("opener", id, "x")
		h.sendAs(alpha, "Gandalf", id)
		for _, name := range []string{"Gandalf", "gandalf", "ALPHA/GANDALF"} {
			out := domaintest.Must(
				h.Rank(t.Context(), alpha, RankInput{AgentName: name, SessionID: id, Ranking: []string{"A"}}))(h.t)
			if out.AgentName != "alpha/Gandalf" || out.State.Counts.Rankings != 1 {
				t.Errorf("as %s: %+v", name, out)
			}
			_, err := h.Rank(t.Context(), alpha, RankInput{AgentName: name, SessionID: id, Ranking: []string{"B"}})
			domaintest.Refused(t, "as "+name, err, fault.Invalid, "is your own response")
		}
	})
}

func TestACouncilIsClosedByItsStarterAPersonOrAfterItsSilence(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for _, c := range []struct {
			name    string
			starter identity.Caller
			who     identity.Caller
			as      string
			joins   bool
			silent  time.Duration
			may     bool
		}{
			{"its starter", alpha, alpha, "", false, 0, true},
			{"another character of its starter", alpha, alpha, "Gandalf", false, 0, true},
			{"another program", alpha, beta, "", false, 0, false},
			{"a participant", alpha, beta, "", true, 0, false},
			{"a participant, almost too late", alpha, beta, "", true, Silence - time.Second, false},
			{"a participant, after the silence", alpha, beta, "", true, Silence, true},
			{"no participant, after the silence", alpha, beta, "", false, Silence, false},
			{"an unbound key", alpha, unbound, "gimli", false, Silence, false},
			{"an unbound participant, after the silence", alpha, unbound, "gimli", true, Silence, true},
			{"a person", alpha, person, "ann", false, 0, true},
			{"the unbound starter", unbound, unbound, "opener", false, 0, true},
			{"the unbound starter, as another", unbound, unbound, "gimli", false, 0, true},
			{"another unbound key, as the starter", unbound, drift, "opener", false, Silence, false},
			{"another unbound key, as a participant", unbound, drift, "gimli", true, 0, false},
			{"a program, of a person's council", person, alpha, "", true, 0, false},
			{"a program, of a silent person's council", person, alpha, "", true, Silence, true},
		} {
			name := ""
			if !c.starter.Bound() {
				name = "opener"
			}
			id := domaintest.Must(h.Start(t.Context(), c.starter, StartInput{Request: "?", AgentName: name}))(h.t).SessionID
			h.Clock.Pass(time.Minute) // the starter's silence begins with its last call
			domaintest.Must(h.Get(t.Context(), c.starter, GetInput{AgentName: name, SessionID: id}))(h.t)
			if c.joins {
				domaintest.Must(h.Join(t.Context(), c.who, JoinInput{AgentName: c.as, SessionID: id}))(h.t)
			}
			h.Clock.Pass(c.silent)
			err := h.calls(c.who, c.as, id)["close"](t.Context())
			if c.may && err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if !c.may {
				starter := "alpha"
				if name != "" {
					starter = name
				}
				domaintest.Refused(t, c.name, err, fault.Forbidden, "only "+starter+", who started the council, or a human")
				if v := domaintest.Must(councils.Get(t.Context(), h.DB.User("u"), id))(h.t); v.Status != Active {
					t.Errorf("%s: the council is %s", c.name, v.Status)
				}
				continue
			}
			domaintest.Says(t, c.name+" again", h.calls(drift, "late", id)["close"](t.Context()), fault.Precondition,
				"Council session is already closed.")
		}
	})
}

// older makes a council look as one from before owners were kept: its documents have the plain names of its agents.
func (h *fixture) older(id string) {
	h.t.Helper()
	domaintest.Check(h.t, h.DB.User("u").Update(h.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		v, err := councils.Get(ctx, tx, id)
		if err != nil {
			return err
		}
		for i := range v.Members {
			m := &v.Members[i]
			if old := agentID(m.Name, m.Owner); old != m.Name {
				participants.Under(id).Delete(tx, old)
				seats.Delete(tx, old)
			}
			participants.Under(id).Put(tx, m.Name, Participant{AgentName: m.Name, LastSeen: v.CreatedAt})
			seats.Put(tx, m.Name, seat{id})
			m.Owner = identity.Owner{}
		}
		councils.Put(tx, id, v)
		return nil
	}))
}

func TestACouncilFromBeforeOwnersWereKeptGoesOn(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		begin := func(c identity.Caller, name string) string {
			id := domaintest.Must(h.Start(t.Context(), c, StartInput{Request: "?", AgentName: name}))(h.t).SessionID
			h.sendAs(unbound, "Gimli", id)
			h.sendAs(beta, "", id)
			h.Clock.Pass(time.Second)
			return id
		}
		id := begin(alpha, "")
		h.older(id)
		// Its participants go on, whatever the spelling of their documents.
		h.sendAs(unbound, "Gimli", id)
		h.sendAs(beta, "", id)
		domaintest.Must(h.Rank(t.Context(), unbound, RankInput{AgentName: "gimli", SessionID: id, Ranking: []string{"B"}}))(h.t)
		domaintest.Must(h.Get(t.Context(), alpha, GetInput{SessionID: id}))(h.t)
		domaintest.Refused(t, "a participant", h.calls(beta, "", id)["close"](t.Context()), fault.Forbidden, "alpha")
		domaintest.Refused(t, "an unbound key", h.calls(drift, "alpha", id)["close"](t.Context()), fault.Forbidden, "alpha")
		domaintest.Check(t, h.calls(alpha, "", id)["close"](t.Context()))

		unverified := begin(drift, "opener")
		h.older(unverified)
		for name, c := range map[string]identity.Caller{"opener": drift, "opener2": unbound, "": beta} {
			domaintest.Refused(t, name, h.calls(c, name, unverified)["close"](t.Context()), fault.Forbidden, "opener")
		}
		domaintest.Check(t, h.calls(person, "ann", unverified)["close"](t.Context()))

		// They are purged with everything below them.
		h.Clock.Pass(Retention)
		if n := h.sweep(10); n != 2 {
			t.Errorf("%d handled", n)
		}
		for _, at := range []string{id, unverified} {
			page, err := participants.Under(at).Query(t.Context(), h.DB.User("u"), store.Query{Limit: 10})
			if err != nil || len(page.Docs) != 0 {
				t.Errorf("left are %+v, %v", page.Docs, err)
			}
		}
		for _, name := range []string{"Gimli", "beta", "alpha", "opener"} {
			if _, err := seats.Get(t.Context(), h.DB.User("u"), name); !fault.Is(err, fault.NotFound) {
				t.Errorf("the seat of %s is left: %v", name, err)
			}
		}
	})
}

func TestTheDocumentsOfAgentsHaveIdsOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for title, c := range map[string]struct {
		who  identity.Caller
		name string
	}{
		"a program":              {alpha, ""},
		"a character":            {alpha, "Gandalf"},
		"another's":              {beta, "Gandalf"},
		"an unbound key's":       {unbound, "Gandalf"},
		"another unbound key's":  {drift, "Gandalf"},
		"one that looks like it": {drift, "key:0123456789ab:gandalf"},
		"a long one":             {unbound, strings.Repeat("\U0001F9D9", 60)},
	} {
		who, err := speaking(c.who, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if other, dup := seen[who.id()]; dup || len(who.id()) > store.MaxID || strings.Contains(who.id(), "/") {
			t.Errorf("%s and %s have the id %q", title, other, who.id())
		}
		seen[who.id()] = title
	}
}
