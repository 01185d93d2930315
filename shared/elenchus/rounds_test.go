package elenchus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestAVerificationRunsToItsVerdict(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		begun, err := c.Start(t.Context(), alpha, StartInput{
			Target:       "src/auth.ts",
			Requirements: "no token leaks",
			WorkingDir:   "/home/u/app",
			Files:        pairs([]string{"src/auth.ts", "import './db'\n"}),
		})
		id := begun.SessionID
		if err != nil || !regexp.MustCompile(`^2026-03-01_src-auth-ts_[0-9a-z]{6}$`).MatchString(id) ||
			begun.Status != Initialized || begun.Context != (StartContext{"src/auth.ts", 1, "no token leaks"}) ||
			!slices.Contains(begun.FilesWanted, "src/db.ts") {
			t.Fatalf("%+v, %v", begun, err)
		}
		got, err := c.GetContext(t.Context(), unbound, ContextInput{SessionID: id})
		if err != nil || got.Target != "src/auth.ts" || got.CurrentRound != 0 ||
			!slices.Equal(got.Files, []FileView{{"src/auth.ts", Base, 14}}) || got.IssuesSummary.Total != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		one := c.turn(id, RoundInput{Output: "src/auth.ts:1 leaks; see lib/log.ts:9", IssuesRaised: []IssueInput{
			{
				ID:          "SEC-001",
				Severity:    Critical,
				Summary:     "leaks",
				Location:    "src/auth.ts:1",
				Description: "d",
				Evidence:    "e",
			}, {ID: "X1", Category: "RELIABILITY", Severity: Low, Summary: "s"}}})
		want := RoundOutput{
			SessionID:          id,
			RoundNumber:        1,
			Role:               Verifier,
			Status:             Verifying,
			IssuesRaised:       2,
			NewIssues:          2,
			NotResolved:        []Refusal{},
			NewFilesDiscovered: []string{},
			FilesWanted:        []string{"lib/log.ts"},
			Convergence:        Convergence{false, 1, 0, 1},
			NextRole:           Critic,
		}
		if fmt.Sprint(one) != fmt.Sprint(want) {
			t.Errorf("\n got %+v\nwant %+v", one, want)
		}
		two := c.turn(id, RoundInput{IssuesRaised: known("SEC-001"), IssuesResolved: []string{"X1", "NONE-1", "X1"}})
		if two.IssuesRaised != 1 || two.NewIssues != 0 || two.IssuesResolved != 1 ||
			!slices.Equal(two.NotResolved, []Refusal{{"NONE-1", "no such issue"}}) || two.NextRole != Verifier {
			t.Errorf("%+v", two)
		}
		three := c.turn(id, RoundInput{IssuesResolved: []string{"SEC-001", "X1"}})
		if three.Status != Converged || !three.Convergence.IsConverged || three.NextRole != Complete ||
			three.IssuesResolved != 1 || !slices.Equal(three.NotResolved, []Refusal{{"X1", "is already RESOLVED"}}) {
			t.Errorf("%+v", three)
		}
		i := c.all(id)["SEC-001"]
		if i.Category != "SECURITY" || i.Severity != Critical || i.Evidence != "e" || i.Status != Resolved ||
			i.RaisedBy != Verifier || i.RaisedInRound != 1 || i.ResolvedInRound != 3 || i.TransitionCount != 3 ||
			i.Transitions[0].Status != IssueRaised || i.Transitions[1].Status != Challenged ||
			i.Transitions[2].Status != Resolved {
			t.Errorf("%+v", i)
		}
		end, err := c.End(t.Context(), alpha, EndInput{id, "PASS"})
		if err != nil || end.Status != Completed || end.Verdict != "PASS" || end.EndedBy != "alpha" || len(end.Rounds) != 3 ||
			end.Rounds[0].By != "alpha" || !end.Rounds[0].Verified || end.IssuesSummary.ByStatus[Resolved] != 2 {
			t.Errorf("%+v, %v", end, err)
		}
		out, err := outputs.Under(id).Get(t.Context(), c.DB.User("u"), tickID(end.Rounds[0].Tick))
		if err != nil || out.Text != "src/auth.ts:1 leaks; see lib/log.ts:9" {
			t.Errorf("%q, %v", out.Text, err)
		}
	})
}

func TestARoundThatBreaksARuleIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(2)
		in := RoundInput{SessionID: id, Role: Critic, Output: "x"}
		_, err := c.SubmitRound(t.Context(), alpha, in)
		domaintest.Says(t, "wrong role", err, fault.Precondition,
			"it is the verifier's turn: round 1 of verification "+id+" is not the critic's")
		in.Role = Verifier
		const incomplete = "issuesRaised[0].severity: is required: the issue is new; " +
			"issuesRaised[0].summary: is required: the issue is new; " +
			"issuesRaised[0].category: is required: the id begins with none of SEC-, COR-, REL-, MNT-, PRF-"
		for words, change := range map[string]func(*RoundInput){
			incomplete:                            func(in *RoundInput) { in.IssuesRaised = known("A") },
			"issuesRaised[1].id: is listed twice": func(in *RoundInput) { in.IssuesRaised = fresh(Low, "A", "A") },
			"issuesResolved: A is raised in the same round": func(in *RoundInput) {
				in.IssuesRaised, in.IssuesResolved = fresh(Low, "A"), []string{"A"}
			},
			"output: must be at most 512 KiB": func(in *RoundInput) {
				in.Output = strings.Repeat("é", maxOutput/2+1)
			},
			"files[0].path: must not leave the working directory; " +
				"files[1].content: must be text; this is binary": func(in *RoundInput) {
				in.Files = pairs([]string{"../a.go", "", "b.go", "a\x00"})
			},
			"files[1].path: is listed twice": func(in *RoundInput) {
				in.Files = pairs([]string{"a.go", "", "./a.go", ""})
			},
			"files[0].content: must be at most 256 KiB": func(in *RoundInput) {
				in.Files = pairs([]string{"a.go", strings.Repeat("é", maxFile/2+1)})
			},
		} {
			in := in
			change(&in)
			_, err := c.SubmitRound(t.Context(), alpha, in)
			domaintest.Says(t, words, err, fault.Invalid, words)
		}
		for _, who := range []string{"another's", "unknown"} {
			in, caller := in, other
			if who == "unknown" {
				in.SessionID, caller = "2026-03-01_x_000000", alpha
			}
			_, err := c.SubmitRound(t.Context(), caller, in)
			domaintest.Says(t, who, err, fault.NotFound, fmt.Sprintf("no verification with id %q", in.SessionID))
		}
		if v := c.session(id); v.CurrentRound != 0 || v.Tick != 1 {
			t.Errorf("the refused rounds left %+v", v)
		}
		c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "A")})
		if out := c.turn(id, RoundInput{}); out.Status != ForcedStop || out.NextRole != Complete ||
			out.Convergence.IsConverged {
			t.Errorf("%+v", out)
		}
		_, err = c.SubmitRound(t.Context(), alpha, in)
		domaintest.Says(t, "after the end", err, fault.Precondition,
			"verification "+id+" takes no more rounds: its status is forced_stop. End it with elenchus_end_session, "+
				"or go back with elenchus_rollback")
		if _, err := c.End(t.Context(), alpha, EndInput{id, "FAIL"}); err != nil {
			t.Fatal(err)
		}
		gone := "verification " + id + " ended at 2026-03-01T12:00:00Z with the verdict FAIL"
		_, err = c.SubmitRound(t.Context(), alpha, in)
		domaintest.Says(t, "a round", err, fault.Precondition, gone)
		_, err = c.End(t.Context(), alpha, EndInput{id, "PASS"})
		domaintest.Says(t, "an end", err, fault.Precondition, gone)
		_, err = c.AddFiles(t.Context(), alpha, AddInput{id, pairs([]string{"a.go", ""})})
		domaintest.Says(t, "files", err, fault.Precondition, gone)
		_, err = c.Checkpoint(t.Context(), alpha, CheckpointInput{SessionID: id})
		domaintest.Says(t, "a checkpoint", err, fault.Precondition, gone)
		_, err = c.Rollback(t.Context(), alpha, RollbackInput{id, 2})
		domaintest.Says(t, "a rollback", err, fault.Precondition, gone)
		if i := c.all(id)["A"]; i.Status != Unresolved || i.TransitionCount != 2 {
			t.Errorf("%+v", i)
		}
	})
}

func TestAnotherUsersVerificationIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10, "a.ts", "x")
		ctx, words := t.Context(), fmt.Sprintf("no verification with id %q", id)
		for name, call := range map[string]func() error{
			"context": func() error { return domaintest.Err(c.GetContext(ctx, other, ContextInput{SessionID: id})) },
			"file": func() error {
				_, err := c.GetContext(ctx, other, ContextInput{SessionID: id, Path: "a.ts"})
				return err
			},
			"issues": func() error { return domaintest.Err(c.GetIssues(ctx, other, IssuesInput{SessionID: id})) },
			"add": func() error {
				return domaintest.Err(c.AddFiles(ctx, other, AddInput{id, pairs([]string{"b", ""})}))
			},
			"checkpoint": func() error {
				return domaintest.Err(c.Checkpoint(ctx, other, CheckpointInput{SessionID: id}))
			},
			"rollback": func() error { return domaintest.Err(c.Rollback(ctx, other, RollbackInput{id, 0})) },
			"end":      func() error { return domaintest.Err(c.End(ctx, other, EndInput{id, "PASS"})) },
			"resource": func() error { return domaintest.Err(c.Resources()[0].Read(ctx, other, id)) },
		} {
			domaintest.Says(t, name, call(), fault.NotFound, words)
		}
		if list, err := c.List(ctx, other, ListInput{}); err != nil || len(list.Sessions) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		_, err := c.GetContext(ctx, alpha, ContextInput{SessionID: id, Path: "b.ts"})
		domaintest.Says(t, "a missing file", err, fault.NotFound,
			"verification "+id+" has no file b.ts; give it with elenchus_add_files")
	})
}

func TestIssuesAreListedByPageAndState(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		c.turn(id, RoundInput{IssuesRaised: append(fresh(Critical, "C1", "C2"), fresh(Low, "L1", "L2", "L3")...)})
		c.turn(id, RoundInput{IssuesResolved: []string{"C1", "L2"}})
		for status, want := range map[string]string{
			"": "C1 C2 L1 L2 L3", "all": "C1 C2 L1 L2 L3", "unresolved": "C2 L1 L3", "critical": "C2",
		} {
			var got []string
			in := IssuesInput{SessionID: id, Status: status, Limit: 2}
			for {
				page, err := c.GetIssues(t.Context(), unbound, in)
				if err != nil || len(page.Issues) > 2 {
					t.Fatalf("%+v, %v", page, err)
				}
				for _, i := range page.Issues {
					got = append(got, i.ID)
				}
				if in.Cursor = page.NextCursor; in.Cursor == "" {
					break
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %v", status, got)
			}
		}
	})
}

func TestAnIssueRaisedAgainIsTheSameIssue(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		c.turn(id, RoundInput{IssuesRaised: fresh(Low, "COR-1")})
		c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "COR-1")})
		out := c.turn(id, RoundInput{IssuesRaised: []IssueInput{{ID: "COR-1", Summary: "other words"}}})
		if out.NewIssues != 0 || out.IssuesRaised != 1 || out.Convergence != (Convergence{false, 1, 2, 3}) ||
			out.Intervention == nil || out.Intervention.Type != LoopBreak {
			t.Errorf("%+v, %+v", out, out.Intervention)
		}
		i := c.all(id)["COR-1"]
		if len(c.all(id)) != 1 || i.Summary != "about COR-1" || i.Severity != Critical || i.TransitionCount != 3 ||
			i.Status != IssueRaised {
			t.Errorf("%+v", i)
		}
		if sum := c.session(id).Counts; sum.Total != 1 || sum.BySeverity[Critical] != 1 || sum.BySeverity[Low] != 0 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestVerificationsAreListedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		var ids []string
		for range 5 {
			c.Pass(1e9)
			ids = append(ids, c.start(10))
		}
		c.turn(ids[1], RoundInput{IssuesRaised: fresh(Low, "A")})
		slices.Reverse(ids)
		var got []string
		r := c.Resources()[0]
		for cursor := ""; ; {
			page, err := r.List(t.Context(), unbound, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range page.Items {
				got = append(got, i.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%v, want %v", got, ids)
		}
		list, err := c.List(t.Context(), unbound, ListInput{Status: Verifying})
		if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != ids[3] ||
			list.Sessions[0].NextRole != Critic || !list.Sessions[0].Verified {
			t.Errorf("%+v, %v", list, err)
		}
		v, err := r.Read(t.Context(), unbound, ids[3])
		if rec, ok := v.(Document); err != nil || !ok || rec.SessionID != ids[3] || len(rec.Rounds) != 1 ||
			rec.IssuesSummary.Total != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestAKeyBoundToNoProgramIsNotVerified(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		in := RoundInput{SessionID: id, Role: Verifier, Output: "x"}
		domaintest.Must(c.SubmitRound(t.Context(), unbound, in))(t)
		rec, err := c.Get(t.Context(), unbound, id)
		if err != nil || rec.By != "alpha" || !rec.Verified || rec.Rounds[0].By != "key:0123456789ab" ||
			rec.Rounds[0].Verified {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

// The largest round within the limits of the input fits into a transaction, and so does its rollback.
func TestTheLargestRoundFitsAndCanBeRolledBack(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		numbered := func(prefix string, n int) (ids, texts []string) {
			for i := range n {
				ids = append(ids, fmt.Sprintf("%s-%s-%03d", prefix, strings.Repeat("x", 80), i))
				texts = append(texts, fmt.Sprintf("dir/f%d.ts", i), prefix)
			}
			return ids, texts
		}
		one, texts := numbered("SEC", maxPerRound)
		two, _ := numbered("COR", maxPerRound)
		id := c.start(100, texts[:2*maxPerCall]...)
		for range maxTransitions {
			c.turn(id, RoundInput{IssuesRaised: fresh(Critical, one...)})
			c.turn(id, RoundInput{IssuesRaised: fresh(High, two...)})
		}
		want := c.seen(id)
		_, newer := numbered("new", maxPerRound)
		names := strings.Join(func() (out []string) {
			for i := range maxPerCall {
				out = append(out, fmt.Sprintf("named/g%d.ts:1", i))
			}
			return out
		}(), " ")
		out := c.turn(id, RoundInput{
			Output:         names,
			IssuesRaised:   known(two...),
			IssuesResolved: one,
			Files:          pairs(newer[:2*maxPerCall]),
		})
		if out.IssuesRaised != maxPerRound || out.IssuesResolved != maxPerRound || len(out.FilesWanted) != maxWanted {
			t.Errorf("%d raised, %d resolved, %d wanted", out.IssuesRaised, out.IssuesResolved, len(out.FilesWanted))
		}
		if _, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 2 * maxTransitions}); err != nil {
			t.Fatal(err)
		}
		if !same(c.seen(id), want) {
			t.Error("the rollback did not restore the state")
		}
	})
}
