package pulse

import (
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// CreateInput is the input of create_session.
type CreateInput struct {
	op.Idempotency
	Name        string  `json:"name" allow:"nonempty,max=200"`
	SessionID   string  `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"by default the lowest free program/N"`
	ProgramID   string  `json:"programId,omitempty" allow:"max=50,pattern=name" jsonschema:"by default your key's"`
	Status      *string `json:"status,omitempty" allow:"max=200" jsonschema:"what you are doing, in your words"`
	State       State   `json:"state,omitempty" allow:"enum=working|blocked|complete|pinned,default=working"`
	Progress    *int    `json:"progress,omitempty" allow:"min=0,max=100"`
	ProjectName *string `json:"projectName,omitempty" allow:"max=100"`
}

// CreateOutput is the output of create_session.
type CreateOutput struct {
	View
	Created bool `json:"created" jsonschema:"false where the session was there already"`
}

// UpdateInput is the input of update_session. Fields that are left out stay unchanged.
type UpdateInput struct {
	SessionID     string  `json:"sessionId,omitempty" allow:"max=100,pattern=session,session" jsonschema:"by default your newest live one"`
	Status        *string `json:"status,omitempty" allow:"max=200" jsonschema:"what you are doing; empty clears it"`
	State         State   `json:"state,omitempty" allow:"enum=working|blocked|complete|pinned"`
	Progress      *int    `json:"progress,omitempty" allow:"min=0,max=100"`
	ProjectName   *string `json:"projectName,omitempty" allow:"max=100"`
	LastHeartbeat bool    `json:"lastHeartbeat,omitempty" jsonschema:"true alone just says that you are there"`
}

// ListInput is the input of list_sessions.
type ListInput struct {
	State           State  `json:"state,omitempty" allow:"enum=working|blocked|complete|pinned|all,default=all,rare"`
	ProgramID       string `json:"programId,omitempty" allow:"max=100"`
	Limit           int    `json:"limit,omitempty" allow:"min=1,max=50,default=10"`
	Cursor          string `json:"cursor,omitempty" allow:"max=2000,rare" jsonschema:"a nextCursor"`
	IncludeArchived bool   `json:"includeArchived,omitempty" allow:"default=false,rare" jsonschema:"those too that went silent and were ended"`
}

// ListOutput is the output of list_sessions.
type ListOutput struct {
	Sessions   []View `json:"sessions"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// View is the representation of a session in answers.
type View struct {
	SessionID     string      `json:"sessionId"`
	Address       string      `json:"address,omitempty" jsonschema:"the target of messages to this session alone"`
	Name          string      `json:"name"`
	ProgramID     string      `json:"programId,omitempty"`
	Verified      bool        `json:"verified" jsonschema:"whether the program is that of the key that created it"`
	Status        string      `json:"status,omitempty"`
	State         State       `json:"state"`
	Lifecycle     task.Status `json:"lifecycle"`
	Progress      int         `json:"progress"`
	ProjectName   string      `json:"projectName,omitempty"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	LastHeartbeat time.Time   `json:"lastHeartbeat,omitzero"`
	Live          bool        `json:"live" jsonschema:"whether it has not ended and was heard of lately"`
	EndedAt       time.Time   `json:"endedAt,omitzero"`
	Archived      bool        `json:"archived,omitempty"`
}

func (s *Service) view(id string, v Session, beat Heartbeat, now time.Time) View {
	last := beat.At
	if v.Archived {
		last = v.LastHeartbeat
	}
	id = v.id(id)
	address := ""
	if v.ProgramID != "" {
		address = identity.Address(v.ProgramID, id)
	}
	return View{SessionID: id, Address: address, Name: v.Name, ProgramID: v.ProgramID, Verified: v.Verified, Status: v.Status,
		State: v.State, Lifecycle: v.Lifecycle, Progress: v.Progress, ProjectName: v.ProjectName,
		CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, LastHeartbeat: last,
		Live: v.Live() && now.Sub(last) < s.staleAfter(), EndedAt: v.EndedAt, Archived: v.Archived}
}

// ServedByDefault makes its tools part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Operations returns the operations of the toolset pulse.
func (s *Service) Operations() []op.Op {
	const set = "pulse"
	return []op.Op{
		op.New(op.Spec{Name: "create_session", Starts: op.Never, Title: "Begin a session", Toolset: set, Route: "POST /v1/sessions",
			Effect: op.Write, Creates: true, Cases: createCases,
			Doc: "Announce your presence when you start: register a session, so that others see you and what you " +
				"are working on. With a sessionId that is there it is updated, resumed or revived."}, s.Create),
		op.New(op.Spec{Name: "update_session", Starts: op.Never, Title: "Update a session", Toolset: set,
			Route: "PATCH /v1/sessions/{sessionId}", Effect: op.Write, Cases: updateCases,
			Compat: []op.Compat{{Route: "PATCH /v1/sessions"}},
			Doc: "Report your progress, status or state, or send a heartbeat (lastHeartbeat true). Call it at least " +
				"once an hour: a silent session is ended and its claimed tasks go back to the queue."},
			s.Update),
		op.New(op.Spec{Name: "list_sessions", Also: op.ForAgents, Title: "List sessions", Toolset: set, Route: "GET /v1/sessions",
			Effect: op.Read, Cases: listCases,
			Doc: "See which agents are online, what each is doing, its progress and when it was last heard of. " +
				"Newest first."}, s.List),
	}
}
