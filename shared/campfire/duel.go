package campfire

import (
	"cmp"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// State is the state of a fire.
type State string

// The states of a fire.
const (
	Debating State = "DEBATING"
	Pending  State = "HONORABLE_DUEL_PENDING" // a duel is declared and has no judge
	Active   State = "DUEL_ACTIVE"
)

// Role is a part in a duel. Each turn belongs to one role.
type Role string

// The roles, in the order of their turns.
const (
	Challenger Role = "challenger"
	Defender   Role = "defender"
	Judge      Role = "judge"
)

// String returns the name of the role in messages.
func (r Role) String() string {
	switch r {
	case Challenger:
		return "Challenger"
	case Defender:
		return "Defender"
	}
	return "Judge"
}

// Voice is a speaker, by its whole name: a program, or a character of one such as alpha/Gandalf. It is verified if the
// key of the call is bound to that program.
type Voice struct {
	Name     string
	Verified bool

	caller identity.Caller
}

// is reports whether the voice is that of a name in a duel.
func (v Voice) is(name string) bool { return name != "" && identity.Same(v.Name, name) }

// plays reports whether the voice is that of the character that a challenge names without its program. A name that is a
// program's means that program alone.
func (v Voice) plays(character string) bool {
	if v.is(character) {
		return true
	}
	_, program := identity.Among(v.caller.Reserved, character)
	_, own, found := strings.Cut(v.Name, "/")
	return found && !program && !strings.Contains(character, "/") && identity.Same(own, character)
}

// Argument is the statement of a role on its turn.
type Argument struct {
	Role      Role      `json:"role"`
	Name      string    `json:"name"`
	Verified  bool      `json:"verified" jsonschema:"whether the key that spoke is bound to the program of the name"`
	Human     bool      `json:"human,omitempty" jsonschema:"a person spoke"`
	Text      string    `json:"text"`
	Surrender bool      `json:"surrender,omitempty"`
	At        time.Time `json:"at"`
}

// Duel is a challenge with its transcript. It has one round of three turns.
type Duel struct {
	FireID             string `json:"fireId"`
	Number             int64  `json:"number" jsonschema:"counts the duels of the fire"`
	ChallengerName     string `json:"challengerName"`
	ChallengerVerified bool   `json:"challengerVerified"`
	DefenderName       string `json:"defenderName"`
	JudgeName          string `json:"judgeName" jsonschema:"empty until one took the oath"`
	JudgeVerified      bool   `json:"judgeVerified"`
	ThesisOfAttack     string `json:"thesisOfAttack"`
	// CurrentTurn is the role that acts next. It is the challenger from the start, who may act once there is a judge.
	CurrentTurn     Role       `json:"currentTurn"`
	CreatedAt       time.Time  `json:"createdAt"`
	DeadlineMinutes int        `json:"deadlineMinutes"`
	TurnDeadline    time.Time  `json:"turnDeadline" jsonschema:"when the duel is abandoned unless somebody acts"`
	Transcript      []Argument `json:"transcript"`
}

// Result is the way in which a duel ended.
type Result string

// The results of a duel.
const (
	Judged    Result = "verdict"
	Abandoned Result = "abandoned"
)

// Outcome is the end of a duel.
type Outcome struct {
	Result Result `json:"result"`
	Winner Role   `json:"winner,omitempty"`
	// PlanVersion is the version of the plan that the verdict made, and Mutation its text.
	PlanVersion int64  `json:"planVersion,omitempty"`
	Mutation    string `json:"requiredPlanMutation,omitempty"`
	// Reason is the reason for which a duel was abandoned. By names the agent that ended the duel, and is empty for an
	// overdue one.
	Reason   string    `json:"reason,omitempty"`
	By       string    `json:"by,omitempty"`
	Verified bool      `json:"verified"`
	Human    bool      `json:"human,omitempty" jsonschema:"a person ended it"`
	EndedAt  time.Time `json:"endedAt"`
}

// Ended is a duel that is over.
type Ended struct {
	Duel
	Outcome Outcome `json:"outcome"`
}

// State returns the state of the fire.
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

// startTurn gives the turn to a role and sets its deadline.
func (d *Duel) startTurn(next Role, now time.Time) {
	d.CurrentTurn, d.TurnDeadline = next, now.Add(time.Duration(d.DeadlineMinutes)*time.Minute)
}

// addArgument extends a copy of the transcript, so that duels copied before do not change.
func (d *Duel) addArgument(r Role, by Voice, text string, surrender bool, now time.Time) {
	d.Transcript = append(d.Transcript[:len(d.Transcript):len(d.Transcript)], Argument{
		Role:      r,
		Name:      by.Name,
		Verified:  by.Verified,
		Human:     by.caller.IsHuman(),
		Text:      text,
		Surrender: surrender,
		At:        now,
	})
}

// Throw declares a duel of by against target. Each phase of the duel has a deadline of the given minutes. It returns
// [fault.Precondition] if a duel stands, and [fault.Invalid] if both names are equal.
func (f *Fire) Throw(by Voice, target, thesis string, minutes int, now time.Time) error {
	if f.Duel != nil {
		return fault.New(fault.Precondition,
			"A duel is already in progress. Resolve it (verdict or abandon_duel) before starting another.")
	}
	if by.plays(target) {
		return errField("target_name", "Challenger and Defender must be distinct identities.")
	}
	f.Duels++
	f.Duel = &Duel{
		FireID:             f.ID,
		Number:             f.Duels,
		ChallengerName:     by.Name,
		ChallengerVerified: by.Verified,
		DefenderName:       target,
		ThesisOfAttack:     thesis,
		CreatedAt:          now,
		DeadlineMinutes:    minutes,
		Transcript:         []Argument{},
	}
	f.take(Challenger, by)
	f.Duel.startTurn(Challenger, now)
	return nil
}

// TakeOath makes by the Judge of the standing duel. It returns [fault.Precondition] if there is no duel without a
// judge, and [fault.Forbidden] to the Challenger and the Defender.
func (f *Fire) TakeOath(by Voice, now time.Time) error {
	switch f.State() {
	case Debating:
		return fault.New(fault.Precondition, "No pending duel on fire '%s'.", f.ID)
	case Active:
		return fault.New(fault.Precondition, "The tribunal is already complete. The duel is active.")
	}
	seat := Challenger
	if by.plays(f.Duel.DefenderName) {
		seat = Defender
	}
	if seat == Defender || by.is(f.Duel.ChallengerName) {
		return fault.New(fault.Forbidden,
			"character_name '%s' is already registered as %s. The Judge must be a third agent with a different name.",
			by.Name, seat)
	}
	f.Duel.JudgeName, f.Duel.JudgeVerified = by.Name, by.Verified
	f.take(Judge, by)
	f.Duel.startTurn(Challenger, now)
	return nil
}

// turn gives the role r to by for one action, and returns by under the name of the seat. It checks that the duel is
// active, then the turn, then the name and the caller; the first two fail with [fault.Precondition], the last one with
// [fault.Forbidden]. The messages are inactive, for a duel that is not active, and one with only, the name of the
// action.
func (f *Fire) turn(r Role, by Voice, inactive, only string) (Voice, error) {
	if f.State() != Active {
		return by, fault.New(fault.Precondition, "%s", inactive)
	}
	d := f.Duel
	if d.CurrentTurn != r {
		return by, fault.New(fault.Precondition,
			"Not your turn. Expected %s (%s). Your role does not match the current turn.", d.CurrentTurn,
			d.name(d.CurrentTurn))
	}
	owner, taken := f.Owners[r]
	switch {
	case !taken && !f.mayTake(r, by) || taken && !by.is(d.name(r)):
		return by, fault.New(fault.Forbidden, "Only the %s (%s) may use %s. You invoked as '%s'.", r, d.name(r), only,
			by.Name)
	case !taken:
		f.take(r, by)
	case !f.owns(r, by.caller):
		return by, fault.New(fault.Forbidden, "Only the %s (%s) may use %s: %s; %s", r, d.name(r), only,
			owner.Or("took the seat"), by.caller)
	}
	by.Name = d.name(r)
	return by, nil
}

// mayTake reports whether a voice may take a seat that no caller has taken: the Defender's seat under the name that was
// challenged, and another one under its name, in a duel from before the owners of seats were kept.
func (f *Fire) mayTake(r Role, by Voice) bool {
	if r != Defender {
		return by.is(f.Duel.name(r))
	}
	return by.plays(f.Duel.DefenderName) && !by.is(f.Duel.ChallengerName) && !by.is(f.Duel.JudgeName)
}

// take makes the caller of a voice the owner of a seat. A Defender that was challenged without its program gets its
// whole name.
func (f *Fire) take(r Role, by Voice) {
	if f.Owners == nil {
		f.Owners = map[Role]identity.Owner{}
	}
	f.Owners[r] = by.caller.Owner()
	if r == Defender && !by.is(f.Duel.DefenderName) {
		f.Duel.DefenderName = by.Name
	}
}

// owns reports whether a caller has a seat: it took the seat, or it is bound to the program in the name of one that
// nobody or a person took. A person has every seat.
func (f *Fire) owns(r Role, c identity.Caller) bool {
	if owner, taken := f.Owners[r]; taken && !owner.Human {
		return owner.Is(c)
	}
	program, _, _ := strings.Cut(f.Duel.name(r), "/")
	return c.IsHuman() || c.Bound() && identity.Same(program, c.Program)
}

// Strike is the turn of the Challenger. It fails as [Fire.Rule] does.
func (f *Fire) Strike(by Voice, evidence string, now time.Time) error {
	const inactive = "Duel is not active. Waiting for the Judge to take the oath."
	by, err := f.turn(Challenger, by, inactive, "strike_argument this turn")
	if err != nil {
		return err
	}
	f.Duel.addArgument(Challenger, by, evidence, false, now)
	f.Duel.startTurn(Defender, now)
	return nil
}

// Hold is the turn of the Defender. A surrender is recorded, and the Judge still rules. It fails as [Fire.Rule] does.
func (f *Fire) Hold(by Voice, rationale string, surrender bool, now time.Time) error {
	by, err := f.turn(Defender, by, "Duel is not active.", "hold_the_line this turn")
	if err != nil {
		return err
	}
	f.Duel.addArgument(Defender, by, rationale, surrender, now)
	f.Duel.startTurn(Judge, now)
	return nil
}

// Rule is the turn of the Judge. It ends the duel and returns it with the new version of the plan, whose whole text
// is mutation. It returns [fault.Precondition] if the duel is not active or if it is another role's turn, and
// [fault.Forbidden] if by is not the Judge, or if another caller took the Judge's seat.
func (f *Fire) Rule(by Voice, winner Role, ruling, mutation string, now time.Time) (Ended, Plan, error) {
	by, err := f.turn(Judge, by, "Duel is not active.", "deliver_verdict")
	if err != nil {
		return Ended{}, Plan{}, err
	}
	f.Duel.addArgument(Judge, by, ruling, false, now)
	plan := f.newPlan(by, mutation, Verdict, f.Duel.Number, now)
	return f.end(Outcome{
		Result:      Judged,
		Winner:      winner,
		PlanVersion: plan.Version,
		Mutation:    mutation,
		By:          by.Name,
		Verified:    by.Verified,
		Human:       by.caller.IsHuman(),
		EndedAt:     now,
	}), plan, nil
}

// Abandon ends the duel in any phase and returns it. The plan does not change. It returns [fault.Precondition] if no
// duel stands, and [fault.Forbidden] to a caller that has no seat in it and is no human.
func (f *Fire) Abandon(by Voice, now time.Time) (Ended, error) {
	if f.Duel == nil {
		return Ended{}, fault.New(fault.Precondition, "No duel on fire '%s' to abandon.", f.ID)
	}
	if !f.owns(Challenger, by.caller) && !f.owns(Defender, by.caller) && !f.owns(Judge, by.caller) {
		return Ended{}, fault.New(fault.Forbidden,
			"only the Challenger (%s), the Defender (%s), the Judge (%s) or a human may abandon the duel; %s",
			f.Duel.ChallengerName, f.Duel.DefenderName, cmp.Or(f.Duel.JudgeName, "none yet"), by.caller)
	}
	return f.end(Outcome{
		Result:   Abandoned,
		Reason:   "abandon_duel was called",
		By:       by.Name,
		Verified: by.Verified,
		Human:    by.caller.IsHuman(),
		EndedAt:  now,
	}), nil
}

// Lapse ends a duel past its deadline and returns it, or returns nil if no duel is overdue. The duel ends at its
// deadline, so that the record does not depend on the time of the call.
func (f *Fire) Lapse(now time.Time) *Ended {
	d := f.Duel
	if d == nil || now.Before(d.TurnDeadline) {
		return nil
	}
	reason := "overdue: no Judge took the oath by "
	if f.State() == Active {
		reason = "overdue: the " + d.CurrentTurn.String() + " (" + d.name(d.CurrentTurn) + ") did not act by "
	}
	reason += d.TurnDeadline.UTC().Format(time.RFC3339)
	e := f.end(Outcome{Result: Abandoned, Reason: reason, EndedAt: d.TurnDeadline})
	return &e
}

func (f *Fire) end(o Outcome) Ended {
	e := Ended{*f.Duel, o}
	f.Duel, f.Owners = nil, nil
	return e
}
