package campfire

import (
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Fire is the state of a debate. It counts the documents below it.
type Fire struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	// Duel is the standing duel, or nil.
	Duel *Duel `json:"duel,omitempty"`
	// Owners are the callers that took the seats of the standing duel. A duel from before they were kept has none.
	Owners map[Role]identity.Owner `json:"owners,omitempty"`
	// Plan is the newest version of the battle plan, 0 before the first one. Messages and Duels are the numbers of
	// the newest message and the newest duel, which may be the standing one.
	Plan     int64 `json:"plan"`
	Messages int64 `json:"messages"`
	Duels    int64 `json:"duels"`
	// SweepAt is the time at which a sweep deletes the fire, unless it changes before. Fires from before it was kept have
	// none until they change.
	SweepAt time.Time `json:"sweepAt,omitzero"`
}

// logged describes the fire in the log: by its duel, if it has one, or else by the number of its messages.
func (f *Fire) logged(string) store.Note {
	n := store.Note{Line: fmt.Sprintf("%s, %d messages, plan %d", f.ID, f.Messages, f.Plan)}
	if d := f.Duel; d != nil {
		n.Line = fmt.Sprintf("%s: duel %d of %s and %s", f.ID, d.Number, d.ChallengerName, d.DefenderName)
		n.State = string(d.CurrentTurn)
	}
	return n
}

// Message is a message at a fire. Seq is its number, starting at 1.
type Message struct {
	Seq       int64     `json:"seq"`
	Author    string    `json:"author,omitempty"`
	Verified  bool      `json:"verified" jsonschema:"whether the key that spoke is bound to the program of the author"`
	Human     bool      `json:"human,omitempty" jsonschema:"a person spoke"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`
}

// Cause is the origin of a version of a plan.
type Cause string

// The causes of a version.
const (
	Update  Cause = "update"
	Verdict Cause = "verdict"
)

// Plan is one version of a battle plan.
type Plan struct {
	Version  int64  `json:"version" jsonschema:"0 for a plan that nobody has written yet"`
	Content  string `json:"content"`
	Author   string `json:"author,omitempty"`
	Verified bool   `json:"verified" jsonschema:"whether the key that wrote it is bound to the program of the author"`
	Human    bool   `json:"human,omitempty" jsonschema:"a person wrote it"`
	Cause    Cause  `json:"cause,omitempty"`
	// Duel is the number of the duel that ended with this version, or 0.
	Duel      int64     `json:"duel,omitempty" jsonschema:"number of the duel whose verdict made it"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

var (
	fires = store.Collection[Fire]{
		Name:      "fires",
		PartOf:    "a fire",
		Indexes:   []string{"createdAt desc"},
		AllUsers:  []string{"duel.turnDeadline", "sweepAt"},
		Unindexed: []string{"duel.thesisOfAttack", "duel.transcript"},
		Log:       "fire",
		Note:      (*Fire).logged,
		Text:      (*Fire).text,
	}
	messages = store.Collection[Message]{
		Name:      "fires/*/fireMessages",
		Indexes:   []string{"seq"},
		Unindexed: []string{"text"},
		Text:      (*Message).text,
	}
	plans = store.Collection[Plan]{Name: "fires/*/battlePlans", Unindexed: []string{"content"}, Text: (*Plan).text}
	duels = store.Collection[Ended]{Name: "fires/*/duels", Indexes: []string{"number desc"},
		Unindexed: []string{"thesisOfAttack", "transcript", "outcome"}, Text: (*Ended).text}
)

// Defs returns the definitions of the collections that hold fires.
func (*Service) Defs() []*store.Def {
	return []*store.Def{fires.Def(), messages.Def(), plans.Def(), duels.Def()}
}

// docID returns the id of the n-th document in a collection below a fire.
func docID(n int64) string { return fmt.Sprintf("%010d", n) }

func errMissing(id string) error {
	return fault.New(fault.NotFound, "Fire with id '%s' does not exist.", id)
}

// Write returns [fault.Precondition] while a duel stands, in which messages and plans may not be written.
func (f *Fire) Write() error {
	switch f.State() {
	case Pending:
		return fault.New(fault.Precondition,
			"Silence. A duel has been declared. Waiting for an impartial Judge to take the oath.")
	case Active:
		return fault.New(fault.Precondition, "Silence. A duel is being fought. Waiting for the verdict.")
	}
	return nil
}

// Post returns a new message with the next number. It fails as [Fire.Write] does.
func (f *Fire) Post(by Voice, text string, now time.Time) (Message, error) {
	if err := f.Write(); err != nil {
		return Message{}, err
	}
	f.Messages++
	return Message{
		Seq:       f.Messages,
		Author:    by.Name,
		Verified:  by.Verified,
		Human:     by.caller.IsHuman(),
		Text:      text,
		CreatedAt: now,
	}, nil
}

// Replan returns a new version of the plan. It fails as [Fire.Write] does.
func (f *Fire) Replan(by Voice, content string, now time.Time) (Plan, error) {
	if err := f.Write(); err != nil {
		return Plan{}, err
	}
	return f.newPlan(by, content, Update, 0, now), nil
}

func (f *Fire) newPlan(by Voice, content string, why Cause, duel int64, now time.Time) Plan {
	f.Plan++
	return Plan{
		Version:   f.Plan,
		Content:   content,
		Author:    by.Name,
		Verified:  by.Verified,
		Human:     by.caller.IsHuman(),
		Cause:     why,
		Duel:      duel,
		CreatedAt: now,
	}
}
