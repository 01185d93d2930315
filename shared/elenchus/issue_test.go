package elenchus

import (
	"math/rand"
	"reflect"
	"testing"
)

func newRand() *rand.Rand { return rand.New(rand.NewSource(7)) }

func TestEveryEventOfAnIssueInEveryStatus(t *testing.T) {
	t.Parallel()
	// The verifier has raised the issue. An empty status is a refusal.
	for _, c := range []struct {
		from  IssueStatus
		event string
		role  Role
		want  IssueStatus
	}{
		{IssueRaised, "raise", Verifier, IssueRaised}, {IssueRaised, "raise", Critic, Challenged},
		{IssueRaised, "resolve", Verifier, Resolved}, {IssueRaised, "resolve", Critic, Resolved},
		{Challenged, "raise", Verifier, IssueRaised}, {Challenged, "raise", Critic, Challenged},
		{Challenged, "resolve", Verifier, Resolved}, {Challenged, "resolve", Critic, Dismissed},
		{Resolved, "raise", Verifier, IssueRaised}, {Resolved, "raise", Critic, IssueRaised},
		{Resolved, "resolve", Verifier, ""}, {Resolved, "resolve", Critic, ""},
		{Dismissed, "raise", Verifier, IssueRaised}, {Dismissed, "raise", Critic, IssueRaised},
		{Dismissed, "resolve", Verifier, ""}, {Dismissed, "resolve", Critic, ""},
	} {
		for _, mine := range []Role{Verifier, Critic} {
			role := c.role
			if mine == Critic { // The rules are the same with the roles exchanged.
				role = map[Role]Role{Verifier: Critic, Critic: Verifier}[role]
			}
			open := c.from == IssueRaised || c.from == Challenged
			i := Issue{RaisedBy: mine, Track: Track{Severity: High, Status: c.from, Open: open}}
			before := i
			done := true
			if c.event == "raise" {
				i.Raise(role, "", 7, day)
			} else {
				done = i.Resolve(role, 7, day)
			}
			if c.want == "" {
				if done || !reflect.DeepEqual(i, before) {
					t.Errorf("%s, %s by the %s: %+v", c.from, c.event, role, i)
				}
				continue
			}
			closed := c.want == Resolved || c.want == Dismissed
			if !done || i.Status != c.want || i.Open == closed || (i.ResolvedInRound == 7) != closed ||
				i.Changes != 1 || len(i.Transitions) != 1 || i.Severity != High {
				t.Errorf("%s, %s by the %s: %+v, want %s", c.from, c.event, role, i, c.want)
			}
			if got, want := i.Transitions[0], (Transition{7, role, c.want, day}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
}

func TestAnIssueDoesNotGrowWithItsHistory(t *testing.T) {
	t.Parallel()
	i := Issue{RaisedBy: Verifier}
	for n := range 50 {
		i.Raise(Verifier, High, n+1, day)
	}
	if len(i.Transitions) != maxTransitions || i.Changes != 50 || i.Transitions[0].Round != 41 ||
		i.Transitions[9].Round != 50 {
		t.Errorf("%d changes, %+v", i.Changes, i.Transitions)
	}
}

func TestTheEndLeavesOpenIssuesUnresolved(t *testing.T) {
	t.Parallel()
	s := standing(Completed)
	for status, want := range map[IssueStatus]IssueStatus{
		IssueRaised: Unresolved, Challenged: Unresolved, Resolved: Resolved, Dismissed: Dismissed,
	} {
		i := Issue{Track: Track{Status: status, Open: status == IssueRaised || status == Challenged, Severity: Low}}
		if got := i.In(&s); got.Status != want || i.Status != status || len(got.Transitions) != got.Changes {
			t.Errorf("%s: %+v", status, got)
		}
		open := standing(ForcedStop)
		if got := i.In(&open); got.Status != status {
			t.Errorf("%s before the end: %s", status, got.Status)
		}
		s.Counts.count(i.Track, 1)
	}
	if sum := s.Summary(); sum.Total != 4 || sum.ByStatus[Unresolved] != 2 || sum.ByStatus[IssueRaised] != 0 ||
		sum.ByStatus[Challenged] != 0 || sum.ByStatus[Resolved] != 1 || sum.Unresolved != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestTheIDGivesTheCategory(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"SEC-1": "SECURITY", "COR-1": "CORRECTNESS", "REL-x": "RELIABILITY", "MNT-001": "MAINTAINABILITY",
		"PRF-": "PERFORMANCE", "sec-1": "SECURITY", "SEC": "", "SECURE-1": "", "XSEC-1": "", "A": "",
	} {
		if got := categoryOf(id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// The counts that are updated with each issue equal those of a full count.
func TestIncrementalCountsEqualAFullCount(t *testing.T) {
	t.Parallel()
	r := newRand()
	for range 200 {
		all := map[int]*Issue{}
		counts := newCounts()
		for n := range 60 {
			role := []Role{Verifier, Critic}[n%2]
			k := r.Intn(8)
			i := all[k]
			if i == nil {
				all[k] = &Issue{RaisedBy: role}
				all[k].Raise(role, severities[r.Intn(4)], n, day)
				counts.count(all[k].Track, 1)
				continue
			}
			counts.count(i.Track, -1)
			if r.Intn(2) == 0 {
				i.Raise(role, append(severities, "")[r.Intn(5)], n, day)
			} else {
				i.Resolve(role, n, day)
			}
			counts.count(i.Track, 1)
			want := newCounts()
			for _, i := range all {
				want.count(i.Track, 1)
			}
			if !reflect.DeepEqual(counts, want) {
				t.Fatalf("%+v, want %+v", counts, want)
			}
		}
	}
}
