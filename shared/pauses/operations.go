package pauses

import (
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Input is the input of pause_agents.
type Input struct {
	Scope identity.PauseScope `json:"scope" allow:"enum=everything|program|agent|team|project"`
	Name  string              `json:"name,omitempty" allow:"max=201" jsonschema:"the program, team or project; of an agent the session's address, such as claude/2"`
	Words string              `json:"words,omitempty" allow:"max=500" jsonschema:"what the agents are told"`
}

// ResumeInput is the input of resume_agents.
type ResumeInput struct {
	Scope identity.PauseScope `json:"scope" allow:"enum=everything|program|agent|team|project"`
	Name  string              `json:"name,omitempty" allow:"max=201" jsonschema:"as it was paused"`
}

// ResumeOutput is the output of resume_agents.
type ResumeOutput struct {
	Resumed   View   `json:"resumed"`
	Remaining []View `json:"remaining" jsonschema:"the pauses that are still in force"`
}

// ListInput is the input of list_pauses.
type ListInput struct{}

// ListOutput is the output of list_pauses.
type ListOutput struct {
	Pauses []View `json:"pauses"`
}

// View is a pause as callers see it.
type View struct {
	Scope identity.PauseScope `json:"scope"`
	Name  string              `json:"name,omitempty"`
	Words string              `json:"words,omitempty"`
	By    string              `json:"by" jsonschema:"the person's key"`
	At    time.Time           `json:"at"`
}

// Operations returns the operations of the toolset pauses.
func (s *Service) Operations() []op.Op {
	const set = "pauses"
	return []op.Op{
		op.New(op.Spec{
			Name: "pause_agents", Title: "Pause agents", Toolset: set, Route: "POST /v1/pauses", Effect: op.Write,
			For: op.Humans, Cases: pauseCases,
			Doc: "Halt agents: one agent, a program, a team, a project or everything. Their claims and messages are " +
				"refused with your words until you resume; reports on work in progress and waits go on.",
		}, s.Pause),
		op.New(op.Spec{
			Name: "resume_agents", Title: "Resume agents", Toolset: set, Route: "POST /v1/pauses/resume", Effect: op.Write,
			For: op.Humans, Cases: resumeCases,
			Doc: "End a pause: the agents that it halted may claim and send again, unless another pause halts them too.",
		}, s.Resume),
		op.New(op.Spec{
			Name: "list_pauses", Title: "List pauses", Toolset: set, Route: "GET /v1/pauses", Effect: op.Read,
			Cases: listCases,
			Doc: "List the pauses in force, with their start and the person's words. An agent that is refused with PAUSED " +
				"asks here.",
		}, s.List),
	}
}
