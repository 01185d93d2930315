package elenchus

import (
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
)

// An example has no 50 rounds; it would make their calls over both transports, in every suite.
func TestFiftyRoundsAddNoRPCsToACall(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema())
	c := over(t, db)
	ctx, id := t.Context(), c.start(100, "a.ts", "x")
	rpcs.Hold(t, "50 rounds", domaintest.Sent{Get: 100, Commit: 50}, func() {
		for n := 1; n <= 50; n++ {
			domaintest.Must(c.SubmitRound(ctx, alpha, RoundInput{
				SessionID: id, Role: []Role{Critic, Verifier}[n%2], Output: "src/x.ts:1",
				IssuesRaised:   fresh(Critical, "A", fmt.Sprint("B", n)),
				IssuesResolved: []string{fmt.Sprint("B", n-1)},
				Files:          pairs([]string{fmt.Sprintf("n%d.ts", n), "x"}),
			}))(t)
		}
	})
	look := domaintest.Sent{Get: 1, Query: 1}
	all := domaintest.Sent{Get: 1, Query: 1, Commit: 1}
	rpcs.Hold(t, "add files", domaintest.Sent{Get: 2, Commit: 1}, func() {
		domaintest.Must(c.AddFiles(ctx, alpha, AddInput{id, pairs([]string{"b.ts", ""})}))(t)
	})
	rpcs.Hold(t, "context with outputs", domaintest.Sent{Get: 2, Query: 1}, func() {
		domaintest.Must(c.GetContext(ctx, alpha, ContextInput{SessionID: id, Rounds: new(4)}))(t)
	})
	rpcs.Hold(t, "earlier outputs", domaintest.Sent{Get: 2, Query: 1}, func() {
		domaintest.Must(c.GetContext(ctx, alpha, ContextInput{SessionID: id, Rounds: new(50), Cursor: "40.0"}))(t)
	})
	rpcs.Hold(t, "context without outputs", look, func() {
		domaintest.Must(c.GetContext(ctx, alpha, ContextInput{SessionID: id, Rounds: new(0)}))(t)
	})
	rpcs.Hold(t, "issues", look, func() { domaintest.Must(c.GetIssues(ctx, alpha, IssuesInput{SessionID: id}))(t) })
	rpcs.Hold(t, "rollback", all, func() { domaintest.Must(c.Rollback(ctx, alpha, RollbackInput{id, 46}))(t) })
	rpcs.Hold(t, "end", all, func() { domaintest.Must(c.End(ctx, alpha, EndInput{id, "PASS"}))(t) })
	// The record is a resource, which is no operation.
	rpcs.Hold(t, "record", look, func() { domaintest.Must(c.Get(ctx, alpha, id))(t) })
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
