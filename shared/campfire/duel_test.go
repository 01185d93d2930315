package campfire

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

var t0 = domaintest.Start

func voice(name string) Voice {
	return Voice{Name: name, Verified: true, caller: domaintest.Bound("u", name)}
}

// events are the events of the state machine, each by the role that may cause it.
var events = map[string]func(*Fire, time.Time) error{
	"throw":     func(f *Fire, now time.Time) error { return f.Throw(voice("alice"), "bob", "thesis", 10, now) },
	"oath":      func(f *Fire, now time.Time) error { return f.TakeOath(voice("judy"), now) },
	"strike":    func(f *Fire, now time.Time) error { return f.Strike(voice("alice"), "evidence", now) },
	"hold":      func(f *Fire, now time.Time) error { return f.Hold(voice("bob"), "rationale", false, now) },
	"surrender": func(f *Fire, now time.Time) error { return f.Hold(voice("bob"), "rationale", true, now) },
	"verdict": func(f *Fire, now time.Time) error {
		_, _, err := f.Rule(voice("judy"), Defender, "ruling", "mutation", now)
		return err
	},
	"abandon": func(f *Fire, now time.Time) error { return domaintest.Err(f.Abandon(voice("bob"), now)) },
	"in time": func(f *Fire, now time.Time) error { f.Lapse(now); return nil },
	"overdue": func(f *Fire, now time.Time) error { f.Lapse(now.Add(10 * time.Minute)); return nil },
	"post":    func(f *Fire, now time.Time) error { return domaintest.Err(f.Post(voice("zoe"), "text", now)) },
	"plan":    func(f *Fire, now time.Time) error { return domaintest.Err(f.Replan(voice("zoe"), "content", now)) },
}

// stages are the states of the machine, with the events that lead to them.
var stages = []struct {
	name string
	path []string
}{
	{"DEBATING", nil},
	{"HONORABLE_DUEL_PENDING", []string{"throw"}},
	{"DUEL_ACTIVE challenger", []string{"throw", "oath"}},
	{"DUEL_ACTIVE defender", []string{"throw", "oath", "strike"}},
	{"DUEL_ACTIVE judge", []string{"throw", "oath", "strike", "hold"}},
}

func at(t *testing.T, path []string) *Fire {
	t.Helper()
	f := &Fire{ID: "x", CreatedAt: t0}
	for _, e := range path {
		if err := events[e](f, t0); err != nil {
			t.Fatal(e, err)
		}
	}
	return f
}

// where returns the name of the stage of a fire.
func where(f *Fire) string {
	if f.State() != Active {
		return string(f.State())
	}
	return fmt.Sprintf("%s %s", f.State(), string(f.Duel.CurrentTurn))
}

func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	const (
		debating, pending           = "DEBATING", "HONORABLE_DUEL_PENDING"
		challenger, defender, judge = "DUEL_ACTIVE challenger", "DUEL_ACTIVE defender", "DUEL_ACTIVE judge"

		standing  = "A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another."
		none      = "No pending duel on fire 'x'."
		complete  = "The tribunal is already complete. The duel is active."
		unstruck  = "Duel is not active. Waiting for the Judge to take the oath."
		inactive  = "Duel is not active."
		alices    = "Not your turn. Expected Challenger (alice). Your role does not match the current turn."
		bobs      = "Not your turn. Expected Defender (bob). Your role does not match the current turn."
		judys     = "Not your turn. Expected Judge (judy). Your role does not match the current turn."
		nothing   = "No duel on fire 'x' to abandon."
		declared  = "Silence. A duel has been declared. Waiting for an impartial Judge to take the oath."
		beingHeld = "Silence. A duel is being fought. Waiting for the verdict."
	)
	table := map[string][5]string{
		"throw":     {pending, standing, standing, standing, standing},
		"oath":      {none, challenger, complete, complete, complete},
		"strike":    {unstruck, unstruck, defender, bobs, judys},
		"hold":      {inactive, inactive, alices, judge, judys},
		"surrender": {inactive, inactive, alices, judge, judys},
		"verdict":   {inactive, inactive, alices, bobs, debating},
		"abandon":   {nothing, debating, debating, debating, debating},
		"in time":   {debating, pending, challenger, defender, judge},
		"overdue":   {debating, debating, debating, debating, debating},
		"post":      {debating, declared, beingHeld, beingHeld, beingHeld},
		"plan":      {debating, declared, beingHeld, beingHeld, beingHeld},
	}
	if len(table) != len(events) {
		t.Fatalf("%d rows for %d events", len(table), len(events))
	}
	for event, row := range table {
		for i, s := range stages {
			f, before := at(t, s.path), at(t, s.path)
			err := events[event](f, t0.Add(time.Minute))
			if err == nil {
				if where(f) != row[i] {
					t.Errorf("%s in %s: came to %s, want %s", event, s.name, where(f), row[i])
				}
				continue
			}
			domaintest.Says(t, event+" in "+s.name, err, fault.Precondition, row[i])
			if !reflect.DeepEqual(f, before) {
				t.Errorf("%s in %s was refused and changed the fire", event, s.name)
			}
		}
	}
}

func TestTheStepsToAStageLeadToIt(t *testing.T) {
	t.Parallel()
	for _, s := range stages {
		if got := where(at(t, s.path)); got != s.name {
			t.Errorf("%v leads to %s, not %s", s.path, got, s.name)
		}
	}
}

func TestARefusedActionNamesTheRoleThatMayAct(t *testing.T) {
	t.Parallel()
	now := t0.Add(time.Minute)
	for _, c := range []struct {
		stage int
		name  string
		do    func(*Fire, Voice) error
		kind  fault.Kind
		words string
	}{
		{0, "bob", func(f *Fire, v Voice) error { return f.Throw(v, "bob", "thesis", 10, now) }, fault.Invalid,
			"Challenger and Defender must be distinct identities."},
		{1, "alice", func(f *Fire, v Voice) error { return f.TakeOath(v, now) }, fault.Forbidden,
			"character_name 'alice' is already registered as Challenger. The Judge must be a third agent with a " +
				"different name."},
		{1, "bob", func(f *Fire, v Voice) error { return f.TakeOath(v, now) }, fault.Forbidden,
			"character_name 'bob' is already registered as Defender. The Judge must be a third agent with a " +
				"different name."},
		{2, "bob", func(f *Fire, v Voice) error { return f.Strike(v, "x", now) }, fault.Forbidden,
			"Only the Challenger (alice) may use strike_argument this turn. You invoked as 'bob'."},
		{3, "judy", func(f *Fire, v Voice) error { return f.Hold(v, "x", false, now) }, fault.Forbidden,
			"Only the Defender (bob) may use hold_the_line this turn. You invoked as 'judy'."},
		{2, "zoe", func(f *Fire, v Voice) error { return domaintest.Err(f.Abandon(v, now)) }, fault.Forbidden,
			"only the Challenger (alice), the Defender (bob), the Judge (judy) or a human may abandon the duel; " +
				`this key speaks for "zoe"`},
		{1, "zoe", func(f *Fire, v Voice) error { return domaintest.Err(f.Abandon(v, now)) }, fault.Forbidden,
			"only the Challenger (alice), the Defender (bob), the Judge (none yet) or a human may abandon the duel; " +
				`this key speaks for "zoe"`},
		{4, "alice", func(f *Fire, v Voice) error { return lastError(f.Rule(v, Challenger, "x", "y", now)) },
			fault.Forbidden, "Only the Judge (judy) may use deliver_verdict. You invoked as 'alice'."},
		// The state and the turn are checked before the name.
		{1, "alice", func(f *Fire, v Voice) error { return f.Throw(v, "alice", "thesis", 10, now) }, fault.Precondition,
			"A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another."},
		{2, "alice", func(f *Fire, v Voice) error { return f.TakeOath(v, now) }, fault.Precondition,
			"The tribunal is already complete. The duel is active."},
		{1, "zoe", func(f *Fire, v Voice) error { return f.Strike(v, "x", now) }, fault.Precondition,
			"Duel is not active. Waiting for the Judge to take the oath."},
		{2, "zoe", func(f *Fire, v Voice) error { return f.Hold(v, "x", false, now) }, fault.Precondition,
			"Not your turn. Expected Challenger (alice). Your role does not match the current turn."},
	} {
		f, before := at(t, stages[c.stage].path), at(t, stages[c.stage].path)
		domaintest.Says(t, c.words, c.do(f, voice(c.name)), c.kind, c.words)
		if !reflect.DeepEqual(f, before) {
			t.Errorf("%q: the fire was changed", c.words)
		}
	}
}

func lastError[T, U any](_ T, _ U, err error) error { return err }

func TestEachPhaseHasTheWholeTime(t *testing.T) {
	t.Parallel()
	f := &Fire{ID: "x"}
	for i, e := range []string{"throw", "oath", "strike", "hold"} {
		now := t0.Add(time.Duration(i) * 9 * time.Minute)
		if err := events[e](f, now); err != nil {
			t.Fatal(err)
		}
		if want := now.Add(10 * time.Minute); !f.Duel.TurnDeadline.Equal(want) {
			t.Errorf("after %s: until %s, want %s", e, f.Duel.TurnDeadline, want)
		}
		if f.Lapse(now.Add(10*time.Minute-time.Nanosecond)) != nil {
			t.Errorf("after %s: it lapsed early", e)
		}
	}
}

func TestAnOverdueDuelNamesTheLateRole(t *testing.T) {
	t.Parallel()
	for i, want := range []string{
		"",
		"overdue: no Judge took the oath by 2026-03-01T12:10:00Z",
		"overdue: the Challenger (alice) did not act by 2026-03-01T12:10:00Z",
		"overdue: the Defender (bob) did not act by 2026-03-01T12:10:00Z",
		"overdue: the Judge (judy) did not act by 2026-03-01T12:10:00Z",
	} {
		f := at(t, stages[i].path)
		duel := f.Duel
		e := f.Lapse(t0.Add(time.Hour))
		if want == "" {
			if e != nil {
				t.Errorf("%s lapsed: %+v", stages[i].name, e)
			}
			continue
		}
		outcome := Outcome{Result: Abandoned, Reason: want, EndedAt: t0.Add(10 * time.Minute)}
		if e == nil || !reflect.DeepEqual(*e, Ended{*duel, outcome}) || f.Duel != nil {
			t.Errorf("%s: %+v", stages[i].name, e)
		}
	}
}

func TestASurrenderIsMarkedAndTheJudgeRules(t *testing.T) {
	t.Parallel()
	for _, winner := range []Role{Challenger, Defender} {
		f := at(t, []string{"throw", "oath", "strike", "surrender"})
		e, plan, err := f.Rule(voice("judy"), winner, "ruling", "mutation", t0)
		if err != nil || len(e.Transcript) != 3 || !e.Transcript[1].Surrender || e.Transcript[0].Surrender ||
			e.Transcript[2].Surrender {
			t.Errorf("%+v, %v", e, err)
		}
		if e.Outcome.Winner != winner || e.Outcome.PlanVersion != 1 || plan.Version != 1 ||
			plan.Content != "mutation" || plan.Duel != 1 {
			t.Errorf("%+v, %+v", e.Outcome, plan)
		}
	}
}

func TestNumbersContinueAcrossDuels(t *testing.T) {
	t.Parallel()
	f := at(t, []string{
		"post", "plan", "throw", "oath", "strike", "hold", "verdict", "throw", "abandon", "post", "plan", "throw",
	})
	if f.Messages != 2 || f.Plan != 3 || f.Duels != 3 || f.Duel.Number != 3 {
		t.Errorf("%+v", f)
	}
}
