package campfire

import (
	"encoding/json"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	k := over(t, db)
	read, write := domaintest.Sent{Get: 1}, domaintest.Sent{Get: 1, Commit: 1}
	rpcs.Hold(t, "a new fire", write, k.light)
	rpcs.Hold(t, "a fire that is there", read, k.light)
	rpcs.Hold(t, "a post", write, func() { k.check(k.post("x")) })
	rpcs.Hold(t, "a post with a key", domaintest.Sent{Get: 2, Commit: 1}, func() {
		in := PostInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, FireID: here, Text: "x"}
		k.check(domaintest.Err(k.Post(t.Context(), unbound, in)))
	})
	rpcs.Hold(t, "new messages", domaintest.Sent{Query: 1}, func() { k.read(MessagesInput{}) })
	rpcs.Hold(t, "no new messages", domaintest.Sent{Query: 1, Get: 1}, func() { k.read(MessagesInput{Cursor: "2"}) })
	rpcs.Hold(t, "a plan", write, func() { k.check(k.plan("x")) })
	rpcs.Hold(t, "a gauntlet", write, func() { k.check(k.throw()) })
	rpcs.Hold(t, "an oath", write, func() { k.check(k.oath()) })
	rpcs.Hold(t, "a strike", write, func() { k.check(k.strike()) })
	rpcs.Hold(t, "a hold", write, func() { k.check(k.hold()) })
	rpcs.Hold(t, "a verdict", write, func() { k.check(k.rule()) })
	rpcs.Hold(t, "a look", domaintest.Sent{Get: 2}, func() { k.get() })
	rpcs.Hold(t, "the duels", domaintest.Sent{Get: 1, Query: 1}, func() { k.ended() })
	rpcs.Hold(t, "a duel for the next", write, func() { k.check(k.throw()) })
	rpcs.Hold(t, "an abandonment", write, func() { k.check(k.abandon()) })
	rpcs.Hold(t, "one to be late", write, func() { k.check(k.throw()) })
	rpcs.Hold(t, "a post after an overdue duel", write, func() { k.Pass(time.Hour); k.check(k.post("x")) })
}

// The document of a fire does not grow with its history.
func TestAFireStaysSmall(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		size := func() int {
			text, err := json.Marshal(k.kept())
			k.check(err)
			return len(text)
		}
		for range 11 {
			for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold, k.rule} {
				k.check(step())
			}
			k.check(k.post("x"))
		}
		if n := size(); n > 150 {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestDuelsArePagedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for range 6 {
			k.check(k.throw())
			k.check(k.abandon())
		}
		k.check(k.throw()) // The standing duel is not listed.
		var got []int64
		in := DuelsInput{FireID: here, Limit: 4}
		for range 5 {
			out, err := k.Duels(t.Context(), unbound, in)
			k.check(err)
			for _, e := range out.Duels {
				got = append(got, e.Number)
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if len(got) != 6 || got[0] != 6 || got[5] != 1 {
			t.Errorf("%v", got)
		}
		if out, err := k.Duels(t.Context(), unbound, DuelsInput{FireID: here}); err != nil || len(out.Duels) != 5 {
			t.Errorf("%d by default, %v", len(out.Duels), err)
		}
	})
}
