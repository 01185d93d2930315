package elenchus

import (
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	c := over(t, db)
	ctx, id := t.Context(), ""
	n := 0
	round := func(key string) {
		n++
		domaintest.Must(c.SubmitRound(ctx, alpha, RoundInput{
			Idempotency: op.Idempotency{IdempotencyKey: key}, SessionID: id,
			Role: []Role{Critic, Verifier}[n%2], Output: "src/x.ts:1",
			IssuesRaised: fresh(Critical, "A", fmt.Sprint("B", n)), IssuesResolved: []string{fmt.Sprint("B", n-1)},
			Files: pairs([]string{fmt.Sprintf("n%d.ts", n), "x"}),
		}))(t)
	}
	look := domaintest.Sent{Get: 1, Query: 1}
	all := domaintest.Sent{Get: 1, Query: 1, Commit: 1}
	rpcs.Hold(t, "start", domaintest.Sent{Commit: 1}, func() { id = c.start(100, "a.ts", "x") })
	rpcs.Hold(t, "round 1", domaintest.Sent{Get: 2, Commit: 1}, func() { round("") })
	rpcs.Hold(t, "round 2", domaintest.Sent{Get: 2, Commit: 1}, func() { round("") })
	rpcs.Hold(t, "round 3, with a key", domaintest.Sent{Get: 3, Commit: 1}, func() { round("k") })
	rpcs.Hold(t, "46 more", domaintest.Sent{Get: 92, Commit: 46}, func() {
		for range 46 {
			round("")
		}
	})
	rpcs.Hold(t, "round 50", domaintest.Sent{Get: 2, Commit: 1}, func() { round("") })
	rpcs.Hold(t, "add files", domaintest.Sent{Get: 2, Commit: 1}, func() {
		domaintest.Must(c.AddFiles(ctx, alpha, AddInput{id, pairs([]string{"b.ts", ""})}))(t)
	})
	rpcs.Hold(t, "context", look, func() { domaintest.Must(c.GetContext(ctx, alpha, ContextInput{SessionID: id}))(t) })
	rpcs.Hold(t, "a file", domaintest.Sent{Get: 2}, func() {
		domaintest.Must(c.GetContext(ctx, alpha, ContextInput{SessionID: id, Path: "b.ts"}))(t)
	})
	rpcs.Hold(t, "issues", look, func() { domaintest.Must(c.GetIssues(ctx, alpha, IssuesInput{SessionID: id}))(t) })
	rpcs.Hold(t, "checkpoint", domaintest.Sent{Get: 1, Commit: 1}, func() {
		domaintest.Must(c.Checkpoint(ctx, alpha, CheckpointInput{SessionID: id}))(t)
	})
	rpcs.Hold(t, "rollback", all, func() { domaintest.Must(c.Rollback(ctx, alpha, RollbackInput{id, 46}))(t) })
	rpcs.Hold(t, "end", all, func() { domaintest.Must(c.End(ctx, alpha, EndInput{id, "PASS"}))(t) })
	rpcs.Hold(t, "record", look, func() { domaintest.Must(c.Get(ctx, alpha, id))(t) })
	rpcs.Hold(t, "list", domaintest.Sent{Query: 1}, func() { domaintest.Must(c.List(ctx, alpha, ListInput{}))(t) })
}

// The session grows by a number for each checkpoint only.
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
