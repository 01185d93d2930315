package campfire

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	dial, rpcs := firestore.CountRPCs()
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: dial})
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, schema())
	t.Cleanup(func() { _ = db.Close() })
	k := over(t, db)
	get, query, commit := "BatchGetDocuments", "RunQuery", "Commit"
	read, write := map[string]int{get: 1}, map[string]int{get: 1, commit: 1}
	for _, c := range []struct {
		name string
		call func() error
		want map[string]int
	}{
		{"a new fire", func() error { k.light(); return nil }, write},
		{"a fire that is there", func() error { k.light(); return nil }, read},
		{"a post", func() error { return k.post("x") }, write},
		{"a post with a key", func() error {
			return second(k.Post(t.Context(), loose, PostInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, FireID: here, Text: "x"}))
		}, map[string]int{get: 2, commit: 1}},
		{"new messages", func() error { k.read(MessagesInput{}); return nil }, map[string]int{query: 1}},
		{"no new messages", func() error { k.read(MessagesInput{Cursor: "2"}); return nil }, map[string]int{query: 1, get: 1}},
		{"a plan", func() error { return k.plan("x") }, write},
		{"a gauntlet", k.throw, write},
		{"an oath", k.oath, write},
		{"a strike", k.strike, write},
		{"a hold", k.hold, write},
		{"a verdict", k.rule, write},
		{"a look", func() error { k.get(); return nil }, map[string]int{get: 2}},
		{"the duels", func() error { k.ended(); return nil }, map[string]int{get: 1, query: 1}},
		{"a duel for the next", k.throw, write},
		{"an abandonment", k.abandon, write},
		{"one to be late", k.throw, write},
		{"a post after an overdue duel", func() error { k.Pass(time.Hour); return k.post("x") }, write},
	} {
		before := rpcs()
		k.check(c.call())
		got := rpcs()
		delete(got, "Rollback") // sent behind the call
		for name, n := range before {
			if got[name] -= n; got[name] <= 0 {
				delete(got, name)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What a fire has seen makes its document no larger.
func TestAFireStaysSmall(t *testing.T) {
	each(t, func(t *testing.T, k *camp) {
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
	each(t, func(t *testing.T, k *camp) {
		k.light()
		for range 6 {
			k.check(k.throw())
			k.check(k.abandon())
		}
		k.check(k.throw()) // it stands, and is none of them
		var got []int64
		in := DuelsInput{FireID: here, Limit: 4}
		for range 5 {
			out, err := k.Duels(t.Context(), loose, in)
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
		if out, err := k.Duels(t.Context(), loose, DuelsInput{FireID: here}); err != nil || len(out.Duels) != 5 {
			t.Errorf("%d by default, %v", len(out.Duels), err)
		}
	})
}
