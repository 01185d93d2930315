package elenchus

import (
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
)

func TestAVerificationThatConvergesInItsLastRoundHasConverged(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		for name, want := range map[string]struct {
			last   RoundInput
			status Status
		}{
			"no new issue": {RoundInput{}, Converged},
			"a new issue":  {RoundInput{IssuesRaised: fresh(Low, "B")}, ForcedStop},
		} {
			id := c.start(3)
			c.turn(id, RoundInput{IssuesRaised: fresh(Low, "A")})
			c.turn(id, RoundInput{})
			out := c.turn(id, want.last)
			if out.Status != want.status || out.NextRole != Complete || out.Convergence.IsConverged != (want.status == Converged) {
				t.Errorf("%s: %+v", name, out)
			}
		}
	})
}

func TestNobodyIsToldToReadNewFilesBeforeARoundThatNeverComes(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		four := pairs([]string{"a.ts", "1", "b.ts", "2", "c.ts", "3", "d.ts", "4"})
		for _, rounds := range []int{1, 2} {
			id := c.start(rounds)
			out := c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "A"), Files: four})
			if told := out.Intervention != nil; told != (rounds > 1) {
				t.Errorf("of %d rounds: %+v", rounds, out.Intervention)
			}
		}
		id := c.start(1)
		c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "A")})
		out := domaintest.Must(c.AddFiles(t.Context(), alpha, AddInput{id, four}))(t)
		if out.Added != 4 || out.Intervention != nil {
			t.Errorf("files after the last round: %+v", out)
		}
	})
}

func TestAWorkingDirectoryIsAnAbsolutePath(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		for dir, may := range map[string]bool{
			"/w": true, "/": true, `C:\src`: true, "d:/src": true, `\\host\share`: true,
			"w": false, ".": false, "./w": false, "../w": false, "~/w": false, "C:src": false, `\w`: false,
		} {
			_, err := c.Start(t.Context(), alpha, StartInput{Target: "a", Requirements: "r", WorkingDir: dir})
			if may != (err == nil) || may != source.IsAbs(dir) {
				t.Errorf("%q: %v", dir, err)
			}
			if !may {
				domaintest.Says(t, dir, err, fault.Invalid,
					fmt.Sprintf("workingDir: must be an absolute path, such as /home/me/project, not %q", dir))
			}
		}
	})
}

func TestSeverityAndCategoryTakeAnyCase(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		given := []IssueInput{
			{ID: "X-1", Severity: "critical", Category: "security", Summary: "s"},
			{ID: "X-2", Severity: "Low", Category: "Performance", Summary: "s"},
		}
		c.turn(id, RoundInput{IssuesRaised: given})
		got := c.all(id)
		if one, two := got["X-1"], got["X-2"]; one.Severity != Critical || one.Category != "SECURITY" || two.Severity != Low ||
			two.Category != "PERFORMANCE" || given[0].Severity != "critical" {
			t.Errorf("%+v, of %+v", got, given)
		}
		v := c.session(id)
		if v.Counts.CriticalUnresolved != 1 || v.Counts.BySeverity[Low] != 1 || v.Counts.BySeverity["critical"] != 0 {
			t.Errorf("%+v", v.Counts)
		}
		_, err := c.SubmitRound(t.Context(), alpha, RoundInput{SessionID: id, Role: Critic, Output: "o",
			IssuesRaised: []IssueInput{{ID: "X-1"}, {ID: "X-3", Severity: "blocker", Category: "style", Summary: "s"}}})
		domaintest.Says(t, "unknown ones", err, fault.Invalid,
			"issuesRaised[1].severity: must be one of CRITICAL, HIGH, MEDIUM, LOW, in any case; issuesRaised[1].category: "+
				"must be one of SECURITY, CORRECTNESS, RELIABILITY, MAINTAINABILITY, PERFORMANCE, in any case")
	})
}
