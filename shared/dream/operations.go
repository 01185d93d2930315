package dream

import (
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// PeekInput is the input of dream_peek.
type PeekInput struct {
	Target string `json:"target,omitempty" allow:"max=100" jsonschema:"by default yours"`
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=50,default=10"`
}

// PeekOutput is the output of dream_peek.
type PeekOutput struct {
	Dreams []View `json:"dreams"`
}

// ActivateInput is the input of dream_activate.
type ActivateInput struct {
	DreamID   string `json:"dreamId" allow:"nonempty,max=100,pattern=id"`
	SessionID string `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"yours"`
}

// ActivateOutput is the output of dream_activate.
type ActivateOutput struct {
	View
	ClaimToken    int64     `json:"claimToken"`
	LeaseUntil    time.Time `json:"leaseUntil"`
	AlreadyActive bool      `json:"alreadyActive,omitempty"`
}

// View is the representation of a dream in answers.
type View struct {
	ID           string          `json:"id"`
	Title        string          `json:"title"`
	Instructions string          `json:"instructions,omitempty"`
	Status       task.Status     `json:"status"`
	Priority     task.Priority   `json:"priority"`
	Source       string          `json:"source,omitempty"`
	Verified     bool            `json:"verified"`
	Target       string          `json:"target"`
	ProjectID    string          `json:"projectId,omitempty"`
	Dream        *task.DreamSpec `json:"dream,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
	ExpiresAt    time.Time       `json:"expiresAt,omitzero"`
}

func view(id string, t *task.Task) View {
	return View{ID: id, Title: t.Title, Instructions: t.Instructions, Status: t.Status, Priority: t.Priority,
		Source: t.Source, Verified: t.Verified, Target: t.Target, ProjectID: t.ProjectID, Dream: t.Dream,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt}
}

// ServedByDefault makes its tools part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Operations returns the operations of the toolset dream.
func (s *Service) Operations() []op.Op {
	const set = "dream"
	return []op.Op{
		op.New(op.Spec{Name: "dream_peek", Title: "Look for dreams", Toolset: set, Route: "GET /v1/dreams",
			Effect: op.Read, Cases: peekCases, Compat: []op.Compat{{Route: "GET /v1/dreams/peek"}},
			Doc: "See which dreams wait to be begun: autonomous background work, overnight runs, with their budget, " +
				"branch and time. Create one with create_task, type dream."},
			s.Peek),
		op.New(op.Spec{Name: "dream_activate", Starts: op.Always, Title: "Begin a dream", Toolset: set,
			Route: "POST /v1/dreams/{dreamId}/activate", Effect: op.Write, Cases: activateCases,
			Compat: []op.Compat{{Route: "POST /v1/dreams/activate"}},
			Doc: "Take a waiting dream up and begin its autonomous run. One agent gets it, for the hours of its " +
				"spec; end it with complete_task and the claimToken."},
			s.Activate),
	}
}
