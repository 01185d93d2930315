package elenchus

import (
	"fmt"
	"maps"
	"testing"

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
	c := over(t, db)
	ctx, id := t.Context(), ""
	get, query, commit := "BatchGetDocuments", "RunQuery", "Commit"
	n := 0
	round := func(key string) func() {
		return func() {
			n++
			in := RoundInput{Idempotency: op.Idempotency{IdempotencyKey: key}, SessionID: id, Role: []Role{Critic, Verifier}[n%2], Output: "src/x.ts:1",
				IssuesRaised: fresh(Critical, "A", fmt.Sprint("B", n)), IssuesResolved: []string{fmt.Sprint("B", n-1)}, Files: pairs([]string{fmt.Sprintf("n%d.ts", n), "x"})}
			_, err = c.SubmitRound(ctx, alpha, in)
		}
	}
	many := func() {
		for range 46 {
			round("")()
		}
	}
	for _, call := range []struct {
		name string
		do   func()
		want map[string]int
	}{
		{"start", func() { id = c.start(100, "a.ts", "x") }, map[string]int{commit: 1}},
		{"round 1", round(""), map[string]int{get: 2, commit: 1}},
		{"round 2", round(""), map[string]int{get: 2, commit: 1}},
		{"round 3, with a key", round("k"), map[string]int{get: 3, commit: 1}},
		{"46 more", many, map[string]int{get: 92, commit: 46}},
		{"round 50", round(""), map[string]int{get: 2, commit: 1}},
		{"add files", func() { _, err = c.AddFiles(ctx, alpha, AddInput{id, pairs([]string{"b.ts", ""})}) }, map[string]int{get: 2, commit: 1}},
		{"context", func() { _, err = c.GetContext(ctx, alpha, ContextInput{SessionID: id}) }, map[string]int{get: 1, query: 1}},
		{"a file", func() { _, err = c.GetContext(ctx, alpha, ContextInput{SessionID: id, Path: "b.ts"}) }, map[string]int{get: 2}},
		{"issues", func() { _, err = c.GetIssues(ctx, alpha, IssuesInput{SessionID: id}) }, map[string]int{get: 1, query: 1}},
		{"checkpoint", func() { _, err = c.Checkpoint(ctx, alpha, CheckpointInput{SessionID: id}) }, map[string]int{get: 1, commit: 1}},
		{"rollback", func() { _, err = c.Rollback(ctx, alpha, RollbackInput{id, 46}) }, map[string]int{get: 1, query: 1, commit: 1}},
		{"end", func() { _, err = c.End(ctx, alpha, EndInput{id, "PASS"}) }, map[string]int{get: 1, query: 1, commit: 1}},
		{"record", func() { _, err = c.Get(ctx, alpha, id) }, map[string]int{get: 1, query: 1}},
		{"list", func() { _, err = c.List(ctx, alpha, ListInput{}) }, map[string]int{query: 1}},
	} {
		before := rpcs()
		if call.do(); err != nil {
			t.Fatalf("%s: %v", call.name, err)
		}
		got := rpcs()
		for k, n := range before {
			if got[k] -= n; got[k] == 0 {
				delete(got, k)
			}
		}
		if !maps.Equal(got, call.want) {
			t.Errorf("%s: %v, want %v", call.name, got, call.want)
		}
	}
}

// What a round reads and writes does not grow with the rounds before it, but for a
// number for each checkpoint.
func TestTheSessionStaysSmall(t *testing.T) {
	t.Parallel()
	size := func(rounds int) int {
		v := Session{MaxRounds: 100, State: State{Counts: newCounts()}}
		for n := range rounds {
			v.Take([]string{"A", "B"}, 1, day)
			if n%2 == 1 {
				v.Checkpoints = append(v.Checkpoints, n+1)
			}
		}
		f, err := sessions.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return len(fmt.Sprint(f))
	}
	if few, many := size(4), size(50); many > few+4*23+20 {
		t.Errorf("after 4 rounds %d characters, after 50 %d", few, many)
	}
}
