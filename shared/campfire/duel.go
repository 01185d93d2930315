package campfire

import (
	"time"

	"parley.internal/shared/fault"
)

// State is what goes on at a fire.
type State string

// The states.
const (
	Debating State = "DEBATING"
	Pending  State = "HONORABLE_DUEL_PENDING" // declared, without a judge
	Active   State = "DUEL_ACTIVE"
)

// Role is a part in a duel; a turn is one's.
type Role string

// The roles, in the order of their turns.
const (
	Challenger Role = "challenger"
	Defender   Role = "defender"
	Judge      Role = "judge"
)

// String is the role as faults name it.
func (r Role) String() string {
	switch r {
	case Challenger:
		return "Challenger"
	case Defender:
		return "Defender"
	}
	return "Judge"
}

// Voice is the name that somebody speaks under, and whether the server knows it to be true.
type Voice struct {
	Name     string
	Verified bool
}

// Argument is what one said on its turn.
type Argument struct {
	Role      Role      `json:"role"`
	Name      string    `json:"name"`
	Verified  bool      `json:"verified" jsonschema:"whether the name is the program of the key that spoke"`
	Text      string    `json:"text"`
	Surrender bool      `json:"surrender,omitempty"`
	At        time.Time `json:"at"`
}

// Duel is a challenge, and what was said in it. It has one round.
type Duel struct {
	FireID             string `json:"fireId"`
	Number             int64  `json:"number" jsonschema:"counts the duels of the fire"`
	ChallengerName     string `json:"challengerName"`
	ChallengerVerified bool   `json:"challengerVerified"`
	DefenderName       string `json:"defenderName"`
	JudgeName          string `json:"judgeName" jsonschema:"empty until one took the oath"`
	JudgeVerified      bool   `json:"judgeVerified"`
	ThesisOfAttack     string `json:"thesisOfAttack"`
	// CurrentTurn is the challenger's from the start, who may act once there is a judge.
	CurrentTurn     Role       `json:"currentTurn"`
	CreatedAt       time.Time  `json:"createdAt"`
	DeadlineMinutes int        `json:"deadlineMinutes"`
	TurnDeadline    time.Time  `json:"turnDeadline" jsonschema:"when the duel is abandoned unless somebody acts"`
	Transcript      []Argument `json:"transcript"`
}

// Result is how a duel ended.
type Result string

// The results.
const (
	Judged    Result = "verdict"
	Abandoned Result = "abandoned"
)

// Outcome is the end of a duel.
type Outcome struct {
	Result Result `json:"result"`
	Winner Role   `json:"winner,omitempty"`
	// PlanVersion is the version that the verdict made, and Mutation its text.
	PlanVersion int64  `json:"planVersion,omitempty"`
	Mutation    string `json:"requiredPlanMutation,omitempty"`
	// Reason says why a duel was abandoned, By who did it where that is known.
	Reason   string    `json:"reason,omitempty"`
	By       string    `json:"by,omitempty"`
	Verified bool      `json:"verified"`
	EndedAt  time.Time `json:"endedAt"`
}

// Ended is a duel that is over.
type Ended struct {
	Duel
	Outcome Outcome `json:"outcome"`
}

// State is what goes on at the fire.
func (f *Fire) State() State {
	switch {
	case f.Duel == nil:
		return Debating
	case f.Duel.JudgeName == "":
		return Pending
	}
	return Active
}

func (d *Duel) name(r Role) string {
	switch r {
	case Challenger:
		return d.ChallengerName
	case Defender:
		return d.DefenderName
	}
	return d.JudgeName
}

// wait gives the next one its time.
func (d *Duel) wait(next Role, now time.Time) {
	d.CurrentTurn, d.TurnDeadline = next, now.Add(time.Duration(d.DeadlineMinutes)*time.Minute)
}

func (d *Duel) say(r Role, by Voice, text string, surrender bool, now time.Time) {
	d.Transcript = append(d.Transcript[:len(d.Transcript):len(d.Transcript)],
		Argument{Role: r, Name: by.Name, Verified: by.Verified, Text: text, Surrender: surrender, At: now})
}

// Throw declares a duel. Each of its phases may take so many minutes.
func (f *Fire) Throw(by Voice, target, thesis string, minutes int, now time.Time) error {
	if f.Duel != nil {
		return fault.New(fault.Precondition, "A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another.")
	}
	if by.Name == target {
		return wrong("target_name", "Challenger and Defender must be distinct identities.")
	}
	f.Duels++
	f.Duel = &Duel{FireID: f.ID, Number: f.Duels, ChallengerName: by.Name, ChallengerVerified: by.Verified, DefenderName: target,
		ThesisOfAttack: thesis, CreatedAt: now, DeadlineMinutes: minutes, Transcript: []Argument{}}
	f.Duel.wait(Challenger, now)
	return nil
}

// TakeOath makes somebody the Judge: neither the Challenger nor the Defender.
func (f *Fire) TakeOath(by Voice, now time.Time) error {
	switch f.State() {
	case Debating:
		return fault.New(fault.Precondition, "No pending duel on fire '%s'.", f.ID)
	case Active:
		return fault.New(fault.Precondition, "The tribunal is already complete. The duel is active.")
	}
	for _, r := range []Role{Challenger, Defender} {
		if by.Name == f.Duel.name(r) {
			return fault.New(fault.Forbidden, "character_name '%s' is already registered as %s. The Judge must be a third agent with a different name.", by.Name, r)
		}
	}
	f.Duel.JudgeName, f.Duel.JudgeVerified = by.Name, by.Verified
	f.Duel.wait(Challenger, now)
	return nil
}

// turn refuses who may not act now, by the duel, then the turn, then the name.
func (f *Fire) turn(r Role, by Voice, inactive, only string) error {
	if f.State() != Active {
		return fault.New(fault.Precondition, "%s", inactive)
	}
	d := f.Duel
	if d.CurrentTurn != r {
		return fault.New(fault.Precondition, "Not your turn. Expected %s (%s). Your role does not match the current turn.", d.CurrentTurn, d.name(d.CurrentTurn))
	}
	if by.Name != d.name(r) {
		return fault.New(fault.Forbidden, "Only the %s (%s) may use %s. You invoked as '%s'.", r, d.name(r), only, by.Name)
	}
	return nil
}

// Strike is the Challenger's turn.
func (f *Fire) Strike(by Voice, evidence string, now time.Time) error {
	if err := f.turn(Challenger, by, "Duel is not active. Waiting for the Judge to take the oath.", "strike_argument this turn"); err != nil {
		return err
	}
	f.Duel.say(Challenger, by, evidence, false, now)
	f.Duel.wait(Defender, now)
	return nil
}

// Hold is the Defender's turn. One who surrenders has said so; the Judge still rules.
func (f *Fire) Hold(by Voice, rationale string, surrender bool, now time.Time) error {
	if err := f.turn(Defender, by, "Duel is not active.", "hold_the_line this turn"); err != nil {
		return err
	}
	f.Duel.say(Defender, by, rationale, surrender, now)
	f.Duel.wait(Judge, now)
	return nil
}

// Rule is the Judge's turn. It ends the duel, and its mutation is the new plan, whole.
func (f *Fire) Rule(by Voice, winner Role, ruling, mutation string, now time.Time) (Ended, Plan, error) {
	if err := f.turn(Judge, by, "Duel is not active.", "deliver_verdict"); err != nil {
		return Ended{}, Plan{}, err
	}
	f.Duel.say(Judge, by, ruling, false, now)
	plan := f.newPlan(by, mutation, Verdict, f.Duel.Number, now)
	return f.end(Outcome{Result: Judged, Winner: winner, PlanVersion: plan.Version, Mutation: mutation, By: by.Name, Verified: by.Verified, EndedAt: now}), plan, nil
}

// Abandon ends the duel in any phase. The plan stays.
func (f *Fire) Abandon(by Voice, now time.Time) (Ended, error) {
	if f.Duel == nil {
		return Ended{}, fault.New(fault.Precondition, "No duel on fire '%s' to abandon.", f.ID)
	}
	return f.end(Outcome{Result: Abandoned, Reason: "abandon_duel was called", By: by.Name, Verified: by.Verified, EndedAt: now}), nil
}

// Lapse ends a duel whose phase is overdue, as of its deadline; nil where none is. Who
// looks, and when, makes no difference to the record.
func (f *Fire) Lapse(now time.Time) *Ended {
	d := f.Duel
	if d == nil || now.Before(d.TurnDeadline) {
		return nil
	}
	reason := "overdue: no Judge took the oath by "
	if f.State() == Active {
		reason = "overdue: the " + d.CurrentTurn.String() + " (" + d.name(d.CurrentTurn) + ") did not act by "
	}
	e := f.end(Outcome{Result: Abandoned, Reason: reason + d.TurnDeadline.UTC().Format(time.RFC3339), EndedAt: d.TurnDeadline})
	return &e
}

func (f *Fire) end(o Outcome) Ended {
	e := Ended{*f.Duel, o}
	f.Duel = nil
	return e
}
