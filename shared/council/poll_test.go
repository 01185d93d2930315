package council

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// fill adds responses of the opener to a council, up to the given number, without the cost of sending them.
func (h *fixture) fill(id string, some int64) {
	h.t.Helper()
	u := h.DB.User("u")
	for made := int64(0); made < some; {
		domaintest.Check(h.t, u.Update(h.t.Context(), func(ctx context.Context, tx *store.Tx) error {
			v, err := councils.Get(ctx, tx, id)
			if err != nil {
				return err
			}
			for range min(some-v.Responses, store.MaxWrites-1) {
				n, err := v.Answer(v.CreatedBy, h.Clock.Now())
				if err != nil {
					return err
				}
				f := Feedback{ID: number(n), Label: label(n), Author: v.CreatedBy, Content: number(n)}
				responses.Under(id).Create(tx, f.ID, f)
			}
			made = v.Responses
			councils.Put(tx, id, v)
			return nil
		}))
	}
}

func count(from, to int) string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, " ")
}

func TestPagesBringEveryResponseOnce(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		h.fill(id, 45)
		for name, read := range map[string]func(cursor string) ViewOutput{
			"by id":      func(cursor string) ViewOutput { return h.get("beta", id, cursor) },
			"without id": func(cursor string) ViewOutput { return h.get("gamma", "", cursor) },
			"a reader": func(cursor string) ViewOutput {
				return domaintest.Must(h.Get(t.Context(), reader, GetInput{AgentName: "eye", Cursor: cursor}))(h.t)
			},
		} {
			cursor := ""
			for i, want := range []string{count(1, 20), count(21, 40), count(41, 45), ""} {
				got := read(cursor)
				if contents(got.Feedback) != want || got.More != (i < 2) || (got.Request != nil) != (i == 0) ||
					got.State.Counts.Responses != 45 {
					t.Errorf("%s, page %d: %s, more %v, request %v", name, i, contents(got.Feedback), got.More,
						got.Request)
				}
				cursor = got.NextCursor
			}
		}
		if p := h.get("beta", id, "").Participant; p.LastFeedbackSeen != "45" {
			t.Errorf("reading the first page again takes back what was seen: %+v", p)
		}
		first := h.join("beta", id)
		if contents(first.Feedback) != count(1, 20) || !first.More {
			t.Errorf("%+v", first)
		}
	})
}

func TestAnUnknownOrStaleCursorBringsEverything(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		other := h.start("alpha")
		h.send("alpha", other, "elsewhere")
		h.send("alpha", other, "elsewhere")
		h.Clock.Pass(time.Second)
		id := h.start("alpha")
		h.send("alpha", id, "1")
		h.send("alpha", id, "2")
		h.join("beta", id)
		for name, cursor := range map[string]string{
			"none":                "",
			"nonsense":            "nonsense",
			"zero":                cursor{}.String(),
			"of another council":  h.get("gamma", other, "").NextCursor,
			"of an unknown one":   cursor{"nope", 1, 1}.String(),
			"of a later response": cursor{id, 3, 1}.String(),
			"of a later revision": cursor{id, 2, 99}.String(),
		} {
			for _, at := range []string{id, ""} {
				got := h.get("beta", at, cursor)
				if contents(got.Feedback) != "1 2" || got.Request == nil || got.SessionID != id ||
					got.State.Participants == nil {
					t.Errorf("%s, at %q: %+v", name, at, got)
				}
			}
		}
		// The newest closed council is read where none is active.
		h.conclude("alpha", id)
		h.conclude("alpha", other)
		for _, cursor := range []string{
			"", "nonsense", cursor{id, 3, 1}.String(), h.get("gamma", other, "").NextCursor,
		} {
			if got := h.get("beta", "", cursor); contents(got.Feedback) != "1 2" || got.Request == nil ||
				got.SessionID != id {
				t.Errorf("closed, %q: %+v", cursor, got)
			}
		}
		if got := h.get("beta", "", cursor{id, 1, 1}.String()); contents(got.Feedback) != "2" || got.Request != nil {
			t.Errorf("closed: %+v", got)
		}
	})
}

func TestASummaryIsRepeatedOnlyAfterAChange(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("alpha")
		cursor := h.get("alpha", id, "").NextCursor
		poll := func() ViewOutput {
			out := h.get("alpha", id, cursor)
			cursor = out.NextCursor
			return out
		}
		for _, c := range []struct {
			name    string
			changes bool
			do      func()
		}{
			{"nothing", false, func() {}},
			{"a poll", false, func() { h.Clock.Pass(time.Second); h.get("alpha", id, cursor) }},
			{"a join", true, func() { h.join("beta", id) }},
			{"a second join", false, func() { h.join("beta", id) }},
			{"an answer", true, func() { h.send("beta", id, "x") }},
			{"a ranking", true, func() { h.rank("alpha", id, "A") }},
		} {
			poll()
			c.do()
			got := poll().State
			if c.changes != (got.Participants != nil) || c.changes != (got.PendingParticipants != nil) ||
				c.changes != (got.SessionID != "") {
				t.Errorf("after %s: %+v", c.name, got)
			}
			if got.Status != Active || got.Counts.Participants == 0 {
				t.Errorf("after %s: %+v", c.name, got)
			}
		}
		poll()
		h.conclude("beta", id)
		if got := poll().State; got.Status != Closed || got.Conclusion == nil {
			t.Errorf("after the close: %+v", got)
		}
		if got := poll().State; got.Status != Closed || got.Conclusion != nil {
			t.Errorf("once more: %+v", got)
		}
	})
}

func TestAPollThatFindsNothingNewIsSmall(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		uuids := 0
		h.Service.NewID = func() string { uuids++; return fmt.Sprintf("0192f3c4-5b6a-7c8d-9e0f-%012d", uuids) }
		h.Clock.Pass(123456 * time.Microsecond)
		id := h.start("agent-0001")
		for i := 2; i <= 10; i++ {
			h.join(fmt.Sprintf("agent-%04d", i), id)
		}
		h.fill(id, 1000)
		h.rank("agent-0010", id, "A", "B", "C", "D", "E", "F", "G", "H", "I", "J")
		var got ViewOutput
		seen, pages := 0, 0
		for cursor := ""; pages == 0 || got.More; pages++ {
			got = h.get("agent-0002", "", cursor)
			seen, cursor = seen+len(got.Feedback), got.NextCursor
		}
		if seen != 1000 || pages != 50 {
			t.Errorf("%d responses in %d pages", seen, pages)
		}
		for _, at := range []string{"", id} {
			got = h.get("agent-0002", at, got.NextCursor)
			text, err := json.Marshal(got)
			if err != nil || len(text) >= 500 || len(got.Feedback) != 0 ||
				got.State.Counts != (Counts{10, 8, 1000, 1}) {
				t.Errorf("%d bytes: %s, %v", len(text), text, err)
			}
			t.Logf("%d bytes: %s", len(text), text)
		}
	})
}

// Two followers receive every response of eight concurrent senders once, in the order of the numbers.
func TestEightAgentsAnsweringAtOnceLoseAndRepeatNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		agents, each := 8, domaintest.Crowd(t, 2, 1)
		id := h.start("opener")
		var want []string
		var senders, followers sync.WaitGroup
		for i := range agents {
			for n := range each {
				want = append(want, fmt.Sprintf("%d/%d", i, n))
			}
			senders.Go(func() {
				name := fmt.Sprint("agent-", i)
				for n := range each {
					in := SendInput{
						Idempotency: op.Idempotency{IdempotencyKey: fmt.Sprint(i, "/", n)},
						AgentName:   name,
						SessionID:   id,
						Content:     fmt.Sprintf("%d/%d", i, n),
					}
					if err := domaintest.Retry(t.Context(), func() error {
						return domaintest.Err(h.Send(t.Context(), domaintest.Bound("u", name), in))
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 2 {
			followers.Go(func() {
				var got []string
				for cursor := ""; len(got) < agents*each; {
					out, err := h.Get(t.Context(), unbound,
						GetInput{AgentName: fmt.Sprint("follower-", i), SessionID: id, Cursor: cursor, WaitMs: 20_000})
					if fault.Is(err, fault.Conflict) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					cursor = out.NextCursor
					for _, f := range out.Feedback {
						if got = append(got, f.Content); f.ID != fmt.Sprint(len(got)) {
							t.Errorf("response %s came at place %d", f.ID, len(got))
						}
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("follower %d got %v", i, got)
				}
			})
		}
		senders.Wait()
		followers.Wait()
		state := h.get("opener", id, "").State
		if state.Counts.Responses != int64(agents*each) || state.Counts.Participants != agents+3 ||
			strings.Contains(strings.Join(state.PendingParticipants, " "), "agent") {
			t.Errorf("%+v", state)
		}
	})
}

func TestOfEightConcurrentClosesOneSucceeds(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.start("opener")
		won := make(chan string, 8)
		for _, err := range domaintest.Together(8, func(i int) error {
			name := fmt.Sprint("agent-", i)
			_, err := h.Close(t.Context(), unbound, CloseInput{AgentName: name, SessionID: id, Conclusion: name})
			if err == nil {
				won <- name
			}
			return err
		}) {
			domaintest.Says(t, "one that lost", err, fault.Precondition, "Council session is already closed.")
		}
		close(won)
		winner := <-won
		if c := h.get("opener", id, "").State.Conclusion; winner == "" || len(won) != 0 || c == nil ||
			c.Author != winner || c.Content != winner {
			t.Errorf("%q won, %d more; kept is %+v", winner, len(won), c)
		}
	})
}

func TestAWaitingCallIsWoken(t *testing.T) {
	for name, c := range map[string]struct {
		wake func(h *fixture, id string)
		got  func(out ViewOutput) bool
	}{
		"by a response": {
			func(h *fixture, id string) { h.send("alpha", id, "x") },
			func(out ViewOutput) bool { return contents(out.Feedback) == "x" },
		},
		"by the close": {
			func(h *fixture, id string) { h.conclude("alpha", id) },
			func(out ViewOutput) bool { return out.State.Status == Closed && out.State.Conclusion != nil },
		},
		"not by a join": {
			func(h *fixture, id string) { h.join("gamma", id); h.send("gamma", id, "y") },
			func(out ViewOutput) bool { return contents(out.Feedback) == "y" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWatched(t, func(t *testing.T, h *fixture, looks <-chan struct{}) {
				id, other := h.start("alpha"), h.start("omega")
				cursor := h.join("beta", id).NextCursor
				got := h.waiting(GetInput{AgentName: "beta", Cursor: cursor}, looks)
				h.send("omega", other, "elsewhere")
				c.wake(h, id)
				if out := <-got; !c.got(out) || out.SessionID != id {
					t.Errorf("%+v", out)
				}
			})
		})
	}
}

func TestAWaitForACouncilEndsWhenOneStarts(t *testing.T) {
	eachWatched(t, func(t *testing.T, h *fixture, looks <-chan struct{}) {
		got := h.waiting(GetInput{AgentName: "beta"}, looks)
		id := h.start("alpha")
		if out := <-got; out.SessionID != id || out.Request == nil ||
			!slices.Equal(out.State.Participants, []string{"alpha", "beta"}) {
			t.Errorf("%+v", out)
		}
	})
}

func TestAWaitEndsAtItsTimeoutAndAtOnceWithNothingToWaitFor(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		out := domaintest.Must(h.Get(t.Context(), unbound, GetInput{AgentName: "beta", WaitMs: 1}))(h.t)
		if out.SessionID != "" || out.Feedback == nil {
			t.Errorf("%+v", out)
		}
		id := h.start("alpha")
		out = domaintest.Must(h.Get(t.Context(), unbound, GetInput{AgentName: "beta", WaitMs: 1}))(h.t)
		if out.SessionID != id || len(out.Feedback) != 0 || out.Request == nil {
			t.Errorf("%+v", out)
		}
		h.send("alpha", id, "x")
		out = domaintest.Must(h.Get(t.Context(), unbound, GetInput{AgentName: "beta", WaitMs: 50_000}))(h.t)
		if len(out.Feedback) != 1 {
			t.Errorf("%+v", out)
		}
		h.conclude("alpha", id)
		in := GetInput{AgentName: "beta", Cursor: h.get("beta", id, "").NextCursor, WaitMs: 50_000}
		if out := domaintest.Must(h.Get(t.Context(), unbound, in))(h.t); len(out.Feedback) != 0 ||
			out.State.Status != Closed {
			t.Errorf("%+v", out)
		}
	})
}
