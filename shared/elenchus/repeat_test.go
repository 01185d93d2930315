package elenchus

import (
	"maps"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

func TestACallRepeatedWithItsKeyTakesEffectOnce(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		key := op.Idempotency{IdempotencyKey: "k"}
		start := StartInput{
			Idempotency:  key,
			Target:       "x",
			Requirements: "r",
			WorkingDir:   "/w",
			Files:        pairs([]string{"a.go", "package a"}),
		}
		first, err := c.Start(t.Context(), alpha, start)
		again, err2 := c.Start(t.Context(), alpha, start)
		if err != nil || err2 != nil || first.SessionID != again.SessionID {
			t.Fatalf("%v, %v, %v, %v", first, again, err, err2)
		}
		round := RoundInput{Idempotency: key, SessionID: first.SessionID, Role: Verifier, Output: "x"}
		one, err := c.SubmitRound(t.Context(), alpha, round)
		two, err2 := c.SubmitRound(t.Context(), alpha, round)
		if err != nil || err2 != nil || one.RoundNumber != 1 || two.RoundNumber != 1 ||
			c.session(first.SessionID).CurrentRound != 1 {
			t.Errorf("%+v, %+v, %v, %v", one, two, err, err2)
		}
		cp := CheckpointInput{Idempotency: key, SessionID: first.SessionID}
		a, err := c.Checkpoint(t.Context(), alpha, cp)
		tick := c.session(first.SessionID).Tick
		b, err2 := c.Checkpoint(t.Context(), alpha, cp)
		if err != nil || err2 != nil || a != b || a.Round != 1 || c.session(first.SessionID).Tick != tick {
			t.Errorf("%+v, %+v, %v, %v", a, b, err, err2)
		}
		round.Output = "y"
		if _, err = c.SubmitRound(t.Context(), alpha, round); !fault.Is(err, fault.Precondition) {
			t.Error(err)
		}
	})
}

func TestOfEightConcurrentCallsOneSucceeds(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		crowd := func(name, words string, call func() error) {
			lost := domaintest.Together(8, func(int) error { return domaintest.Retry(t.Context(), call) })
			if len(lost) != 7 {
				t.Errorf("%s: %d succeeded", name, 8-len(lost))
			}
			for _, err := range lost {
				domaintest.Says(t, name, err, fault.Precondition, words)
			}
		}
		crowd("rounds", "it is the critic's turn: round 2 of verification "+id+" is not the verifier's", func() error {
			_, err := c.SubmitRound(t.Context(), alpha,
				RoundInput{SessionID: id, Role: Verifier, Output: "x", IssuesRaised: fresh(High, "A")})
			return err
		})
		crowd("verdicts", "verification "+id+" ended at 2026-03-01T12:00:00Z with the verdict FAIL", func() error {
			_, err := c.End(t.Context(), alpha, EndInput{id, "FAIL"})
			return err
		})
		if v := c.session(id); v.CurrentRound != 1 || v.Counts.Total != 1 {
			t.Errorf("%+v", v)
		}
	})
}

func TestCreatingOperationsTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	creates := map[string]bool{}
	for _, o := range (&Service{}).Operations() {
		creates[o.Name] = o.Creates
		if o.Toolset != "elenchus" || o.Idempotent != o.Creates ||
			!strings.HasPrefix(o.Route, o.Route[:strings.Index(o.Route, " ")]+" /v1/verifications") {
			t.Errorf("%s: %+v", o.Name, o.Spec)
		}
	}
	want := map[string]bool{
		"elenchus_start_session": true,
		"elenchus_get_context":   false,
		"elenchus_submit_round":  true,
		"elenchus_add_files":     false,
		"elenchus_get_issues":    false,
		"elenchus_checkpoint":    true,
		"elenchus_rollback":      false,
		"elenchus_end_session":   false,
		"elenchus_list_sessions": false,
	}
	if !maps.Equal(creates, want) {
		t.Errorf("%v", creates)
	}
}
