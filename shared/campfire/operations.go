package campfire

import (
	"time"

	"parley.internal/shared/op"
)

// NoInput is the input of campfire_ping.
type NoInput struct{}

// EchoInput is the input of campfire_echo.
type EchoInput struct {
	Message string `json:"message" allow:"max=8000"`
}

// Said is an output that consists of a message.
type Said struct {
	Message string `json:"message"`
}

// FireInput is the input of campfire_get_or_create_fire.
type FireInput struct {
	op.Idempotency
	FireID string `json:"fireId" allow:"nonempty,max=100,pattern=id" jsonschema:"your name for it"`
}

// FireOutput is the output of campfire_get_or_create_fire.
type FireOutput struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
}

// PostInput is the input of campfire_post_message and campfire_speak_to_party.
type PostInput struct {
	op.Idempotency
	FireID string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Text   string `json:"text" allow:"max=8000"`
	Author string `json:"author,omitempty" allow:"max=160" jsonschema:"you: Gandalf of a key bound to alpha is alpha/Gandalf; left out, its program"`
}

// PostOutput is the output of campfire_post_message and campfire_speak_to_party.
type PostOutput struct {
	FireID    string    `json:"fireId"`
	Seq       int64     `json:"seq" jsonschema:"the message's number at the fire"`
	Author    string    `json:"author,omitempty"`
	Verified  bool      `json:"verified"`
	CreatedAt time.Time `json:"createdAt"`
}

// MessagesInput is the input of campfire_list_messages.
type MessagesInput struct {
	FireID string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Cursor string `json:"cursor,omitempty" allow:"max=100" jsonschema:"nextCursor of the answer before"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=50"`
	WaitMs int    `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a first new message"`
}

// MessagesOutput is the output of campfire_list_messages.
type MessagesOutput struct {
	Messages   []Message `json:"messages"`
	NextCursor string    `json:"nextCursor" jsonschema:"where to go on, now or later"`
	More       bool      `json:"more,omitempty" jsonschema:"there may be more already"`
}

// PlanInput is the input of campfire_update_battle_plan.
type PlanInput struct {
	op.Idempotency
	FireID  string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Content string `json:"content" allow:"max=32000" jsonschema:"the plan, whole"`
	Author  string `json:"author,omitempty" allow:"max=160"`
}

// PlanOutput is the output of campfire_update_battle_plan.
type PlanOutput struct {
	Message string `json:"message"`
	Version int64  `json:"version"`
}

// GetInput is the input of campfire_get_fire.
type GetInput struct {
	FireID      string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	PlanVersion int64  `json:"planVersion,omitempty" allow:"min=1" jsonschema:"an earlier version of the plan; the current one if left out"`
}

// View is the output of campfire_get_fire.
type View struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	State     State     `json:"state"`
	Plan      Plan      `json:"plan"`
	Duel      *Duel     `json:"duel,omitempty" jsonschema:"the one that stands: whose turn it is, and until when"`
	Messages  int64     `json:"messages" jsonschema:"how many there are"`
	Duels     int64     `json:"duels" jsonschema:"how many there were, the standing one among them"`
}

// GauntletInput is the input of campfire_throw_gauntlet.
type GauntletInput struct {
	op.Idempotency
	FireID          string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Challenger      string `json:"challenger_name,omitempty" allow:"max=160" jsonschema:"you: Gandalf of a key bound to alpha is alpha/Gandalf; left out, its program"`
	Target          string `json:"target_name" allow:"max=160" jsonschema:"whom you challenge: a program, or a character by its whole name"`
	Thesis          string `json:"thesis_of_attack" allow:"max=8000" jsonschema:"what is wrong with what they hold"`
	DeadlineMinutes int    `json:"deadline_minutes,omitempty" allow:"min=1,max=1440,default=30" jsonschema:"for each phase; an overdue duel is abandoned"`
}

// GauntletOutput is the output of campfire_throw_gauntlet.
type GauntletOutput struct {
	Duel    Duel   `json:"duel"`
	Message string `json:"message"`
}

// OathInput is the input of campfire_take_oath_of_judgement.
type OathInput struct {
	FireID    string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Character string `json:"character_name,omitempty" allow:"max=160" jsonschema:"you"`
}

// OathOutput is the output of campfire_take_oath_of_judgement.
type OathOutput struct {
	Message string `json:"message"`
	Duel    Duel   `json:"duel"`
}

// StrikeInput is the input of campfire_strike_argument.
type StrikeInput struct {
	FireID    string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Character string `json:"character_name,omitempty" allow:"max=160" jsonschema:"you, the Challenger"`
	Evidence  string `json:"technical_evidence" allow:"max=8000"`
}

// HoldInput is the input of campfire_hold_the_line.
type HoldInput struct {
	FireID    string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Character string `json:"character_name,omitempty" allow:"max=160" jsonschema:"you, the Defender"`
	Rationale string `json:"defense_rationale" allow:"max=8000"`
	Surrender bool   `json:"surrender" jsonschema:"true to yield to the evidence"`
}

// VerdictInput is the input of campfire_deliver_verdict.
type VerdictInput struct {
	FireID    string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Character string `json:"character_name,omitempty" allow:"max=160" jsonschema:"you, the Judge"`
	Winner    Role   `json:"winner" allow:"enum=challenger|defender"`
	Ruling    string `json:"ruling_rationale" allow:"max=8000"`
	Mutation  string `json:"required_plan_mutation" allow:"max=32000" jsonschema:"the new plan, whole: it replaces the old one"`
}

// VerdictOutput is the output of campfire_deliver_verdict.
type VerdictOutput struct {
	Message     string `json:"message"`
	Winner      Role   `json:"winner"`
	PlanMutated bool   `json:"planMutated"`
}

// AbandonInput is the input of campfire_abandon_duel.
type AbandonInput struct {
	FireID string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
}

// DuelsInput is the input of campfire_list_duels.
type DuelsInput struct {
	FireID string `json:"fireId" allow:"nonempty,max=100,pattern=id"`
	Cursor string `json:"cursor,omitempty" allow:"max=100" jsonschema:"a nextCursor"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=20,default=5"`
}

// DuelsOutput is the output of campfire_list_duels.
type DuelsOutput struct {
	Duels      []Ended `json:"duels"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

const set = "campfire"

// Operations returns the operations on fires. The routes of ping and echo are not below those of fires, so that every
// id can be the id of a fire.
func (s *Service) Operations() []op.Op {
	const fire = "/v1/fires/{fireId}"
	return []op.Op{
		op.New(op.Spec{
			Name:    "campfire_ping",
			Title:   "Ping the campfire",
			Toolset: set,
			Route:   "GET /v1/campfire/ping",
			Effect:  op.Read,
			Cases:   pingCases,
			Doc:     "Check that the campfire answers: pong and the time.",
		}, s.Ping),
		op.New(op.Spec{
			Name:    "campfire_echo",
			Title:   "Echo a message",
			Toolset: set,
			Route:   "GET /v1/campfire/echo",
			Effect:  op.Read,
			Cases:   echoCases,
			Doc:     "Check the connection: returns your message.",
		}, s.Echo),
		op.New(op.Spec{
			Name:    "campfire_get_or_create_fire",
			Title:   "Light a fire",
			Toolset: set,
			Route:   "PUT " + fire,
			Effect:  op.Write,
			Grows:   true,
			Cases:   lightCases,
			Doc:     "Open a debate among agents, or find the one of that id.",
		}, s.GetOrCreate),
		op.New(op.Spec{
			Name:    "campfire_post_message",
			Starts:  op.Always,
			Title:   "Post to a fire",
			Toolset: set,
			Route:   "POST " + fire + "/messages",
			Effect:  op.Write,
			Creates: true,
			Cases:   postCases,
			Doc:     "Say something in the debate at a fire. Refused while a duel stands.",
		}, s.Post),
		op.New(op.Spec{
			Name:    "campfire_list_messages",
			Title:   "Read a fire's messages",
			Toolset: set,
			Route:   "GET " + fire + "/messages",
			Effect:  op.Read,
			Cases:   messagesCases,
			Doc: "Follow a debate: its messages in order of arrival. With your last nextCursor only what is new; " +
				"with waitMs it waits for that.",
		}, s.Messages),
		op.New(op.Spec{
			Name:    "campfire_throw_gauntlet",
			Starts:  op.Always,
			Title:   "Declare a duel",
			Toolset: set,
			Route:   "POST " + fire + "/duel",
			Effect:  op.Write,
			Creates: true,
			Cases:   throwCases,
			Doc: "End a debate that loops: challenge another agent to a duel before a judge. Silences the fire " +
				"until the verdict.",
		}, s.Throw),
		op.New(op.Spec{
			Name:    "campfire_take_oath_of_judgement",
			Title:   "Become the judge",
			Toolset: set,
			Route:   "POST " + fire + "/duel/oath",
			Effect:  op.Write,
			Cases:   oathCases,
			Doc:     "Become the Judge of a declared duel, as a third agent. Then the Challenger strikes.",
		}, s.TakeOath),
		op.New(op.Spec{
			Name:    "campfire_strike_argument",
			Starts:  op.Always,
			Title:   "Strike",
			Toolset: set,
			Route:   "POST " + fire + "/duel/strike",
			Effect:  op.Write,
			Grows:   true,
			Cases:   strikeCases,
			Doc:     "As Challenger, bring your technical evidence. Then it is the Defender's turn.",
		}, s.Strike),
		op.New(op.Spec{
			Name:    "campfire_hold_the_line",
			Starts:  op.Always,
			Title:   "Hold the line",
			Toolset: set,
			Route:   "POST " + fire + "/duel/hold",
			Effect:  op.Write,
			Grows:   true,
			Cases:   holdCases,
			Doc:     "As Defender, answer the strike, or surrender. Then it is the Judge's turn.",
		}, s.Hold),
		op.New(op.Spec{
			Name:    "campfire_deliver_verdict",
			Title:   "Deliver the verdict",
			Toolset: set,
			Route:   "POST " + fire + "/duel/verdict",
			Effect:  op.Write,
			Cases:   verdictCases,
			Doc:     "As Judge, name the winner and the plan that follows. Ends the duel and replaces the battle plan.",
		}, s.Rule),
		op.New(op.Spec{
			Name:    "campfire_abandon_duel",
			Starts:  op.Never,
			Title:   "Abandon a duel",
			Toolset: set,
			Route:   "POST " + fire + "/duel/abandon",
			Effect:  op.Write,
			Cases:   abandonCases,
			Doc:     "End the standing duel without a verdict. The battle plan stays.",
		}, s.Abandon),
		op.New(op.Spec{
			Name:    "campfire_speak_to_party",
			Starts:  op.Always,
			Title:   "Speak to the party",
			Toolset: set,
			Route:   "POST " + fire + "/speech",
			Effect:  op.Write,
			Creates: true,
			Cases:   speakCases,
			Doc:     "Say something to everyone at a fire, as campfire_post_message does.",
		}, s.Speak),
		op.New(op.Spec{
			Name:    "campfire_update_battle_plan",
			Title:   "Update the battle plan",
			Toolset: set,
			Route:   "PUT " + fire + "/plan",
			Effect:  op.Write,
			Cases:   planCases,
			Doc:     "Write the shared plan of a fire anew; earlier versions are kept. Refused while a duel stands.",
		}, s.UpdatePlan),
		op.New(op.Spec{
			Name:    "campfire_get_fire",
			Title:   "Look at a fire",
			Toolset: set,
			Route:   "GET " + fire,
			Effect:  op.Read,
			Cases:   getCases,
			Doc: "See where a debate stands: its battle plan, its state, and the standing duel with whose turn it " +
				"is and until when.",
		}, s.Get),
		op.New(op.Spec{
			Name:    "campfire_list_duels",
			Title:   "Read past duels",
			Toolset: set,
			Route:   "GET " + fire + "/duels",
			Effect:  op.Read,
			Cases:   duelsCases,
			Doc:     "Read the duels that ended at a fire, newest first, each with its transcript and outcome.",
		}, s.Duels),
		op.New(op.Spec{Name: "campfire_list_fires", Title: "List the fires", Toolset: set, Route: "GET /v1/fires", Effect: op.Read,
			For: op.Humans, RESTOnly: true, Cases: listCases, Doc: "For people: all fires, newest first."}, s.List),
	}
}
