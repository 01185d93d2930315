package elenchus

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

var day = time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("west", -5*3600))

// standing returns a session of at most ten rounds in a status, at the first round that can have it.
func standing(s Status) Session {
	v := Session{MaxRounds: 10, State: State{Status: s, Counts: newCounts()}, SweepAt: day.Add(idle)}
	switch s {
	case Verifying:
		v.CurrentRound = 1
		v.Counts.count(Track{Severity: Critical, Status: IssueRaised, Open: true}, 1)
	case Converging:
		v.CurrentRound, v.QuietRounds = 1, 1
	case Converged:
		v.CurrentRound, v.QuietRounds = 2, 2
	case ForcedStop:
		v.CurrentRound = 10
	case Completed:
		v.CurrentRound, v.Verdict, v.EndedAt = 2, "PASS", day
	}
	return v
}

func TestEveryEventInEveryStatus(t *testing.T) {
	t.Parallel()
	fails := Status("")
	for status, want := range map[Status]map[string]Status{
		Initialized: {
			"quiet round": Converging, "new issue": Verifying, "new critical": Verifying, "wrong role": fails,
			"last round": ForcedStop,
			"end":        Completed, "change": Initialized, "a week": ForcedStop, "a day": Initialized,
		},
		Verifying: {
			"quiet round": Verifying, "new issue": Verifying, "new critical": Verifying, "wrong role": fails,
			"last round": ForcedStop,
			"end":        Completed, "change": Verifying, "a week": ForcedStop, "a day": Verifying,
		},
		Converging: {
			"quiet round": Converged, "new issue": Verifying, "new critical": Verifying, "wrong role": fails,
			"last round": Converged, "last round with an issue": ForcedStop,
			"end": Completed, "change": Converging, "a week": ForcedStop, "a day": Converging,
		},
		Converged: {
			"quiet round": fails, "new issue": fails, "new critical": fails, "wrong role": fails, "last round": fails,
			"end": Completed, "change": Converged, "a week": Converged, "a day": Converged,
		},
		ForcedStop: {
			"quiet round": fails, "new issue": fails, "new critical": fails, "wrong role": fails, "last round": fails,
			"end": Completed, "change": ForcedStop, "a week": ForcedStop, "a day": ForcedStop,
		},
		Completed: {
			"quiet round": fails, "new issue": fails, "new critical": fails, "wrong role": fails, "last round": fails,
			"end": fails, "change": fails, "a week": Completed, "a day": Completed,
		},
	} {
		for event, next := range want {
			v := standing(status)
			if err := apply(&v, event); next == fails && err == nil ||
				next != fails && (err != nil || v.Status != next) {
				t.Errorf("%s, %s: %s, %v; want %q", status, event, v.Status, err, next)
			}
			if next == fails && v.Status != status {
				t.Errorf("%s, %s: refused and yet %s", status, event, v.Status)
			}
		}
	}
}

func apply(v *Session, event string) error {
	role, fresh := v.NextRole(), 0
	if role == Complete {
		role = Verifier
	}
	switch event {
	case "end":
		return v.End("s", "FAIL", day)
	case "change":
		return v.MayChange("s")
	case "a week":
		if v.Abandon(day.Add(idle)) != (v.Status != Completed) {
			return errors.New("the result of Abandon is wrong")
		}
		return nil
	case "a day":
		if v.Abandon(day.Add(24 * time.Hour)) {
			return errors.New("it was stopped")
		}
		return nil
	case "wrong role":
		role = map[Role]Role{Verifier: Critic, Critic: Verifier}[role]
	case "last round", "last round with an issue":
		v.MaxRounds = v.CurrentRound + 1
		if event != "last round" {
			fresh = 1
		}
	case "new issue":
		fresh = 1
	case "new critical":
		fresh = 1
	}
	if err := v.MayTake("s", role); err != nil {
		return err
	}
	if event == "new critical" {
		v.Counts.count(Track{Severity: Critical, Status: IssueRaised, Open: true}, 1)
	}
	v.Take([]string{}, fresh, day)
	return nil
}

func TestARefusedRoundHasAReason(t *testing.T) {
	t.Parallel()
	for words, v := range map[string]Session{
		"it is the verifier's turn: round 1 of verification s is not the critic's": standing(Initialized),
		"verification s takes no more rounds: its status is converged. End it with elenchus_end_session, or go back " +
			"with elenchus_rollback": standing(Converged),
		"verification s takes no more rounds: its status is forced_stop. End it with elenchus_end_session, or go " +
			"back with elenchus_rollback": standing(ForcedStop),
		"verification s ended at 2026-03-01T23:30:00-05:00 with the verdict PASS": standing(Completed),
	} {
		domaintest.Says(t, words, v.MayTake("s", Critic), fault.Precondition, words)
	}
	v := standing(Verifying)
	domaintest.Says(t, "the verifier", v.MayTake("s", Verifier), fault.Precondition,
		"it is the critic's turn: round 2 of verification s is not the verifier's")
}

func TestRolesAlternateFromTheVerifier(t *testing.T) {
	t.Parallel()
	v := Session{MaxRounds: 20, State: State{Counts: newCounts()}}
	for i := range 20 {
		want := []Role{Verifier, Critic}[i%2]
		if v.NextRole() != want {
			t.Fatalf("round %d is the %s's", i+1, v.NextRole())
		}
		v.Take(nil, 1, day)
	}
	if v.NextRole() != Complete || v.Status != ForcedStop {
		t.Errorf("%s, %s", v.NextRole(), v.Status)
	}
}

func TestConvergenceDependsOnThreeFigures(t *testing.T) {
	t.Parallel()
	for critical := range 3 {
		for quiet := range 4 {
			for round := range 5 {
				v := Session{
					State: State{CurrentRound: round, QuietRounds: quiet, Counts: Counts{CriticalUnresolved: critical}},
				}
				want := Convergence{critical == 0 && quiet >= 2 && round >= 2, critical, quiet, round}
				if got := v.Convergence(); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		}
	}
}

func TestTheArbiterReturnsTheFirstInterventionThatApplies(t *testing.T) {
	t.Parallel()
	loop := raisedIn([]string{"A", "B"}, []string{"A"}, []string{"B"}, []string{"A", "C"})
	short := raisedIn([]string{"A"}, []string{"A"}, []string{"A"})
	for name, c := range map[string]struct {
		files  []string
		recent []Raised
		total  int
		want   string
	}{
		"nothing":                {[]string{"a", "b"}, loop[:3], 50, ""},
		"no rounds":              {nil, nil, 0, ""},
		"three files":            {[]string{"a", "b", "c"}, nil, 3, ContextExpand},
		"three files in a loop":  {[]string{"a", "b", "c"}, loop, 51, ContextExpand},
		"a loop":                 {[]string{"a", "b"}, loop, 51, LoopBreak},
		"a loop in three rounds": {nil, short, 0, LoopBreak},
		"two of four":            {nil, raisedIn([]string{"A"}, nil, []string{"A"}, nil), 0, ""},
		"51 files":               {nil, loop[:3], 51, SoftCorrect},
	} {
		got := Arbitrate(c.files, c.recent, c.total)
		if (got == nil) != (c.want == "") ||
			(got != nil && (got.Type != c.want || got.Reason == "" || got.Action == "")) {
			t.Errorf("%s: %+v", name, got)
		}
		if got != nil && (len(got.NewContextFiles) > 0) != (c.want == ContextExpand) {
			t.Errorf("%s names %v", name, got.NewContextFiles)
		}
	}
	if got := Arbitrate(nil, loop, 0); !strings.HasPrefix(got.Reason, "A was raised in 3 of the last 4 rounds") {
		t.Errorf("%+v", got)
	}
}

func TestTheArbiterIgnoresRoundsBeforeTheLastFour(t *testing.T) {
	t.Parallel()
	v := Session{MaxRounds: 100, State: State{Counts: newCounts()}}
	for i := range 50 {
		ids := []string{}
		if i%4 < 2 {
			ids = []string{"A"}
		}
		v.Take(ids, 1, day)
		if len(v.Recent) > recentRounds || Arbitrate(nil, v.Recent, 0) != nil {
			t.Fatalf("round %d: %+v", i+1, v.Recent)
		}
	}
}

func TestAnIDHasTheDayTheTargetAndSixCharacters(t *testing.T) {
	t.Parallel()
	for target, slug := range map[string]string{
		"src/auth.ts":        "src-auth-ts",
		"  The  Login (v2)!": "the-login-v2",
		"données":            "donn-es",
		"数据":                 "target",
		"--":                 "target",
		"a-very-long-target-name-of-many-letters": "a-very-long-target-name-of-man",
		"a-very-long-target-name-of-ma-y":         "a-very-long-target-name-of-ma",
	} {
		id, err := newID(target, day, &fakeRandom{r: newRand()})
		if err != nil || !regexp.MustCompile(`^2026-03-02_`+regexp.QuoteMeta(slug)+`_[0-9a-z]{6}$`).MatchString(id) {
			t.Errorf("%q: %s, %v", target, id, err)
		}
	}
	// Bytes that would favour some characters are skipped.
	if id, err := newID("x", day, bytes.NewReader([]byte{255, 0, 252, 35, 36, 251, 10, 253, 9})); err != nil ||
		id != "2026-03-02_x_0z0za9" {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := newID("x", day, bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// raisedIn returns the issues that rounds from the first on name.
func raisedIn(ids ...[]string) []Raised {
	var out []Raised
	for i, list := range ids {
		out = append(out, Raised{Round: i + 1, IDs: list})
	}
	return out
}
