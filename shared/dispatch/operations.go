package dispatch

import (
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// CreateInput is the input of create_task.
type CreateInput struct {
	op.Idempotency
	Title        string           `json:"title" allow:"nonempty,max=200"`
	Target       string           `json:"target" allow:"nonempty,max=100,pattern=name" jsonschema:"the program that should do it, or any"`
	Instructions string           `json:"instructions,omitempty" allow:"max=32000" jsonschema:"what to do, in full"`
	Type         task.Type        `json:"type,omitempty" allow:"enum=task|dream,default=task,rare"`
	Priority     task.Priority    `json:"priority,omitempty" allow:"enum=low|normal|high,default=normal"`
	Action       string           `json:"action,omitempty" allow:"enum=interrupt|sprint|parallel|queue|backlog,default=queue,rare"`
	Source       string           `json:"source,omitempty" allow:"max=100,rare" jsonschema:"who asks; by default your program"`
	ProjectID    string           `json:"projectId,omitempty" allow:"max=100"`
	TTL          int64            `json:"ttl,omitempty" allow:"over=0,max=31536000,rare" jsonschema:"seconds for which it is wanted"`
	ReplyTo      string           `json:"replyTo,omitempty" allow:"max=100,rare"`
	ThreadID     string           `json:"threadId,omitempty" allow:"max=100,rare"`
	Provenance   *task.Provenance `json:"provenance,omitempty" allow:"rare"`
	Fallback     []string         `json:"fallback,omitempty" allow:"max=10,each=100,pattern=name,rare" jsonschema:"programs that may claim it too"`
	Dream        *task.DreamSpec  `json:"dream,omitempty" allow:"rare" jsonschema:"with type dream"`
}

// CreateOutput is the output of create_task.
type CreateOutput struct {
	TaskID    string      `json:"taskId"`
	Status    task.Status `json:"status"`
	Source    string      `json:"source,omitempty"`
	Verified  bool        `json:"verified"`
	Target    string      `json:"target"`
	CreatedAt time.Time   `json:"createdAt"`
	ExpiresAt time.Time   `json:"expiresAt,omitzero"`
	Warning   string      `json:"warning,omitempty" jsonschema:"names targets that no program has"`
}

// ListInput is the input of get_tasks.
type ListInput struct {
	Status              task.Status `json:"status,omitempty" allow:"enum=created|active|blocked|completing|done|failed|derezzed|all,default=created"`
	Type                task.Type   `json:"type,omitempty" allow:"enum=task|question|alert|dream|sprint|sprint-story|all,default=all,rare" jsonschema:"alerts, sprints and stories show only when asked for"`
	Target              string      `json:"target,omitempty" allow:"max=100" jsonschema:"by default your own queue"`
	Source              string      `json:"source,omitempty" allow:"max=100,rare"`
	Limit               int         `json:"limit,omitempty" allow:"min=1,max=50,default=10"`
	Cursor              string      `json:"cursor,omitempty" allow:"max=2000,rare" jsonschema:"a nextCursor"`
	WaitMs              int         `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a first task"`
	IncludeInstructions *bool       `json:"includeInstructions,omitempty" allow:"default=true,rare"`
}

// ListOutput is the output of get_tasks.
type ListOutput struct {
	Tasks      []View `json:"tasks"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// TaskInput names a task.
type TaskInput struct {
	TaskID string `json:"taskId" allow:"nonempty,max=100,pattern=id"`
}

// ClaimInput is the input of claim_task.
type ClaimInput struct {
	TaskID       string `json:"taskId" allow:"nonempty,max=100,pattern=id"`
	SessionID    string `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"yours"`
	LeaseSeconds int    `json:"leaseSeconds,omitempty" allow:"min=30,max=86400,default=900" jsonschema:"how long the claim holds unless renewed"`
}

// ClaimOutput is the output of claim_task.
type ClaimOutput struct {
	View
	ClaimToken     int64 `json:"claimToken"`
	AlreadyClaimed bool  `json:"alreadyClaimed,omitempty"`
}

// NextInput is the input of claim_next_task.
type NextInput struct {
	Types        []task.Type `json:"types,omitempty" allow:"max=2,enum=task|dream,rare" jsonschema:"task by default"`
	WaitMs       int         `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a first task"`
	LeaseSeconds int         `json:"leaseSeconds,omitempty" allow:"min=30,max=86400,default=900"`
	SessionID    string      `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"yours"`
	ProjectID    string      `json:"projectId,omitempty" allow:"max=100" jsonschema:"tasks of this project only"`
}

// NextOutput is the output of claim_next_task.
type NextOutput struct {
	Claimed    bool  `json:"claimed" jsonschema:"false where no task was ready"`
	Task       *View `json:"task,omitempty"`
	ClaimToken int64 `json:"claimToken,omitempty"`
}

// RenewInput is the input of renew_claim.
type RenewInput struct {
	TaskID       string `json:"taskId" allow:"nonempty,max=100,pattern=id"`
	ClaimToken   int64  `json:"claimToken,omitempty" allow:"min=1" jsonschema:"what claim_task returned"`
	SessionID    string `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"of the claim, for the token"`
	LeaseSeconds int    `json:"leaseSeconds,omitempty" allow:"min=30,max=86400,default=900"`
}

// RenewOutput is the output of renew_claim.
type RenewOutput struct {
	TaskID     string    `json:"taskId"`
	ClaimToken int64     `json:"claimToken"`
	LeaseUntil time.Time `json:"leaseUntil"`
}

// ReleaseInput is the input of release_task.
type ReleaseInput struct {
	TaskID     string `json:"taskId" allow:"nonempty,max=100,pattern=id"`
	ClaimToken int64  `json:"claimToken,omitempty" allow:"min=1" jsonschema:"what claim_task returned"`
	SessionID  string `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"of the claim, for the token"`
	Reason     string `json:"reason,omitempty" allow:"max=500"`
}

// CompleteInput is the input of complete_task.
type CompleteInput struct {
	TaskID     string      `json:"taskId" allow:"nonempty,max=100,pattern=id"`
	ClaimToken int64       `json:"claimToken,omitempty" allow:"min=1" jsonschema:"what claim_task returned"`
	SessionID  string      `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"of the claim, for the token"`
	Outcome    task.Status `json:"outcome,omitempty" allow:"enum=done|failed,default=done"`
	Result     string      `json:"result,omitempty" allow:"max=4000"`
	TokensIn   int64       `json:"tokens_in,omitempty" allow:"min=0,rare"`
	TokensOut  int64       `json:"tokens_out,omitempty" allow:"min=0,rare"`
	CostUSD    float64     `json:"cost_usd,omitempty" allow:"min=0,rare"`
}

// CompleteOutput is the output of complete_task.
type CompleteOutput struct {
	View
	AlreadyCompleted bool `json:"alreadyCompleted,omitempty"`
}

// Repeated reports whether the same completion was made before.
func (o CompleteOutput) Repeated() bool { return o.AlreadyCompleted }

// UpdateInput is the input of update_task.
type UpdateInput struct {
	TaskID string      `json:"taskId" allow:"nonempty,max=100,pattern=id"`
	Status task.Status `json:"status,omitempty" allow:"enum=created|active|blocked|completing|done|failed|derezzed"`
	Note   string      `json:"note,omitempty" allow:"max=2000" jsonschema:"replaces the note before"`
	// Priority and Target change a task that waits in a queue, for its creator.
	Priority   task.Priority `json:"priority,omitempty" allow:"enum=low|normal|high,rare"`
	Target     string        `json:"target,omitempty" allow:"max=100,pattern=name,rare" jsonschema:"another queue"`
	ClaimToken int64         `json:"claimToken,omitempty" allow:"min=1" jsonschema:"what claim_task returned"`
	SessionID  string        `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"of the claim, for the token"`
}

// View is the representation of a task in answers.
type View struct {
	ID           string             `json:"id"`
	Type         task.Type          `json:"type"`
	Title        string             `json:"title"`
	Instructions string             `json:"instructions,omitempty"`
	Status       task.Status        `json:"status"`
	Priority     task.Priority      `json:"priority"`
	Action       string             `json:"action,omitempty"`
	Source       string             `json:"source,omitempty"`
	Verified     bool               `json:"verified" jsonschema:"whether the source is the program of the key that asked"`
	Target       string             `json:"target"`
	Fallback     []string           `json:"fallback,omitempty"`
	ProjectID    string             `json:"projectId,omitempty"`
	ReplyTo      string             `json:"replyTo,omitempty"`
	ThreadID     string             `json:"threadId,omitempty"`
	Provenance   *task.Provenance   `json:"provenance,omitempty"`
	CreatedAt    time.Time          `json:"createdAt"`
	ExpiresAt    time.Time          `json:"expiresAt,omitzero"`
	ClaimedBy    string             `json:"claimedBy,omitempty"`
	SessionID    string             `json:"sessionId,omitempty"`
	StartedAt    time.Time          `json:"startedAt,omitzero"`
	LeaseUntil   time.Time          `json:"leaseUntil,omitzero"`
	Attempts     int                `json:"attempts,omitempty"`
	CompletedAt  time.Time          `json:"completedAt,omitzero"`
	Result       string             `json:"result,omitempty"`
	Reason       string             `json:"reason,omitempty"`
	Note         string             `json:"note,omitempty"`
	NotedAt      time.Time          `json:"notedAt,omitzero"`
	EndedBy      string             `json:"endedBy,omitempty" jsonschema:"who ended it: a program, human: or key: with a key's short id"`
	CancelledBy  string             `json:"cancelledBy,omitempty"`
	Context      string             `json:"context,omitempty"`
	AlertType    string             `json:"alertType,omitempty"`
	Usage        *task.Usage        `json:"usage,omitempty"`
	Question     *task.QuestionPart `json:"question,omitempty"`
	Dream        *task.DreamSpec    `json:"dream,omitempty"`
	SprintID     string             `json:"sprintId,omitempty" jsonschema:"of a story"`
	StoryID      string             `json:"storyId,omitempty"`
	Wave         int                `json:"wave,omitempty"`
	Progress     int                `json:"progress,omitempty" jsonschema:"percent"`
}

func view(id string, t task.Task) View {
	v := View{
		ID:           id,
		Type:         t.Type,
		Title:        t.Title,
		Instructions: t.Instructions,
		Status:       t.Status,
		Priority:     t.Priority,
		Action:       t.Action,
		Source:       t.Source,
		Verified:     t.Verified,
		Target:       t.Target,
		Fallback:     t.Fallback,
		ProjectID:    t.ProjectID,
		ReplyTo:      t.ReplyTo,
		ThreadID:     t.ThreadID,
		Provenance:   t.Provenance,
		CreatedAt:    t.CreatedAt,
		ExpiresAt:    t.ExpiresAt,
		ClaimedBy:    t.ClaimedBy,
		SessionID:    t.SessionID,
		StartedAt:    t.StartedAt,
		Attempts:     t.Attempts,
		CompletedAt:  t.CompletedAt,
		Result:       t.Result,
		Reason:       t.Reason,
		Note:         t.Note,
		NotedAt:      t.NotedAt,
		Usage:        t.Usage,
		Question:     t.Question,
		Dream:        t.Dream,
		EndedBy:      t.EndedBy,
		CancelledBy:  t.CancelledBy,
		AlertType:    t.AlertType,
		Context:      t.Context,
	}
	if p := t.Sprint; t.Type == task.Story && p != nil {
		v.SprintID, v.StoryID, v.Wave, v.Progress = p.ParentID, p.StoryID, p.Wave, p.Progress
	}
	return v
}

const toolset = "dispatch"

// requeues reports whether an update puts a task into the queue again.
func requeues(in map[string]any) bool { return in["status"] == string(task.Created) }

// ServedByDefault makes its tools part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Guide returns the lines that lead an agent to its work.
func (*Service) Guide() []op.Guide {
	return []op.Guide{
		{Line: "Work for you: %s.", Tools: []string{"get_tasks"}},
		{Line: "Before you begin a task, claim it with %s; %s keeps it while you work, and %s with the claimToken ends it.",
			Tools: []string{"claim_task", "renew_claim", "complete_task"}},
	}
}

// Operations returns the operations of the toolset dispatch.
func (s *Service) Operations() []op.Op {
	const set = toolset
	return []op.Op{
		op.New(op.Spec{
			Name:    "get_tasks",
			Also:    op.ForAgents,
			Title:   "List tasks",
			Toolset: set,
			Route:   "GET /v1/tasks",
			Effect:  op.Read,
			Cases:   listCases,
			Doc: "Look for work: the tasks in your queue, highest priority first, then oldest. With waitMs it waits for one. " +
				"Claim a task before you work on it.",
		}, s.List),
		op.New(op.Spec{
			Name:    "get_task",
			Also:    op.ForAgents,
			Title:   "Read a task",
			Toolset: set,
			Scopes:  []string{identity.ScopeAnswer},
			Route:   "GET /v1/tasks/{taskId}",
			Effect:  op.Read,
			Cases:   getCases,
			Doc: "Read one task: its instructions, status, who claimed it and until when, and its result. Use it to " +
				"check on a task you gave to another agent.",
		}, s.Get),
		op.New(op.Spec{
			Name:    "create_task",
			Also:    op.ForAgents,
			Starts:  op.Always,
			Title:   "Create a task",
			Toolset: set,
			Route:   "POST /v1/tasks",
			Effect:  op.Write,
			Creates: true,
			Cases:   createCases,
			Doc: "Hand work to another agent or program: put a task into its queue, to be claimed once. Use it to " +
				"delegate, assign or schedule work; target any lets whoever is free take it.",
		}, s.Create),
		op.New(op.Spec{
			Name:    "claim_task",
			Starts:  op.Always,
			Title:   "Claim a task",
			Toolset: set,
			Route:   "POST /v1/tasks/{taskId}/claim",
			Effect:  op.Write,
			Cases:   claimCases,
			Doc: "Take a created task up before you work on it: one agent gets it. The claim holds for a lease: renew it with " +
				"renew_claim, and keep the claimToken to complete the task.",
		}, s.Claim),
		op.New(op.Spec{
			Name:    "claim_next_task",
			Also:    op.ForAgents,
			Title:   "Claim the next task",
			Toolset: set,
			Route:   "POST /v1/tasks/claim",
			Effect:  op.Write,
			Starts:  op.Always,
			Cases:   nextCases,
			Doc: "Get work in one call: the first ready task of your queue, claimed for you, or nothing. With waitMs it waits for " +
				"one, in the order of arrival.",
		}, s.ClaimNext),
		op.New(op.Spec{
			Name:    "renew_claim",
			Starts:  op.Never,
			Title:   "Renew a claim",
			Toolset: set,
			Route:   "POST /v1/tasks/{taskId}/renew",
			Effect:  op.Write,
			Cases:   renewCases,
			Doc: "Keep a claimed task while you work on it: extend its lease from now. At leaseUntil the task " +
				"goes back to the queue.",
		}, s.Renew),
		op.New(op.Spec{
			Name:    "release_task",
			Starts:  op.Never,
			Title:   "Release a task",
			Toolset: set,
			Route:   "POST /v1/tasks/{taskId}/release",
			Effect:  op.Write,
			Cases:   releaseCases,
			Doc:     "Give a claimed task back to the queue unfinished, so that another agent can claim it.",
		}, s.Release),
		op.New(op.Spec{
			Name:    "complete_task",
			Also:    op.ForAgents,
			Starts:  op.Never,
			Title:   "Complete a task",
			Toolset: set,
			Route:   "POST /v1/tasks/{taskId}/complete",
			Effect:  op.Write,
			Cases:   completeCases,
			Doc: "Finish a task that you claimed: outcome done or failed, with its result and what it cost. A stale " +
				"claimToken is refused.",
		}, s.Complete),
		op.New(op.Spec{
			Name:    "update_task",
			Also:    op.ForAgents,
			Starts:  requeues,
			Title:   "Update a task",
			Toolset: set,
			Route:   "PATCH /v1/tasks/{taskId}",
			Effect:  op.Write,
			Cases:   updateCases,
			Doc: "Report progress on a task: a note, or that it is blocked, active again or completing. Cancel it (derezzed), " +
				"queue a failed one again (created), or move a created one.",
		}, s.Update),
	}
}
