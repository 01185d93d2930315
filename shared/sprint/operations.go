package sprint

import (
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// Config holds the orchestrator's settings of a sprint. They are stored and returned; the
// package does not act on them.
type Config struct {
	OrchestratorModel string `json:"orchestratorModel,omitempty" allow:"max=100"`
	SubagentModel     string `json:"subagentModel,omitempty" allow:"max=100"`
	MaxConcurrent     int    `json:"maxConcurrent,omitempty" allow:"min=1,max=1000" jsonschema:"stories run at once; for the orchestrator, not enforced"`
}

// CreateInput is the input of create_sprint.
type CreateInput struct {
	op.Idempotency
	ProjectName string    `json:"projectName" allow:"nonempty,max=100"`
	Branch      string    `json:"branch" allow:"nonempty,max=100"`
	Stories     []Planned `json:"stories" allow:"nonempty,max=200"`
	SessionID   string    `json:"sessionId,omitempty" allow:"max=100"`
	Config      Config    `json:"config,omitzero"`
}

// CreateOutput is the output of create_sprint.
type CreateOutput struct {
	SprintID  string      `json:"sprintId"`
	Status    task.Status `json:"status"`
	Stories   int         `json:"stories"`
	Waves     int         `json:"waves"`
	Ready     []string    `json:"ready" jsonschema:"ids of stories that can be taken up now"`
	CreatedAt time.Time   `json:"createdAt"`
}

// UpdateInput is the input of update_sprint_story.
type UpdateInput struct {
	SprintID      string `json:"sprintId" allow:"nonempty,max=100,pattern=id"`
	StoryID       string `json:"storyId" allow:"nonempty,max=100,pattern=id"`
	Status        string `json:"status,omitempty" allow:"enum=queued|active|complete|failed|skipped" jsonschema:"active takes it up, queued gives it back"`
	Progress      *int   `json:"progress,omitempty" allow:"min=0,max=100"`
	CurrentAction string `json:"currentAction,omitempty" allow:"max=200"`
	Model         string `json:"model,omitempty" allow:"max=100"`
	SessionID     string `json:"sessionId,omitempty" allow:"max=100,session" jsonschema:"of the claim"`
	ClaimToken    int64  `json:"claimToken,omitempty" allow:"min=1" jsonschema:"of the claim, for sessionId"`
}

// UpdateOutput is the output of update_sprint_story.
type UpdateOutput struct {
	SprintID   string      `json:"sprintId"`
	Story      StoryView   `json:"story"`
	LeaseUntil time.Time   `json:"leaseUntil,omitzero" jsonschema:"the story is yours until then; every update of it counts anew"`
	ClaimToken int64       `json:"claimToken,omitempty" jsonschema:"of your claim, for later reports"`
	SessionID  string      `json:"sessionId,omitempty"`
	Retried    bool        `json:"retried,omitempty" jsonschema:"the failure was noted and the story is queued again"`
	Escalated  bool        `json:"escalated,omitempty" jsonschema:"the retries are used up; a human was alerted"`
	AlertID    string      `json:"alertId,omitempty"`
	Sprint     task.Status `json:"sprintStatus,omitempty" jsonschema:"completing, where this ended the last story: call complete_sprint"`
}

// AddInput is the input of add_story_to_sprint.
type AddInput struct {
	op.Idempotency
	SprintID      string `json:"sprintId" allow:"nonempty,max=100,pattern=id"`
	Story         Draft  `json:"story"`
	InsertionMode string `json:"insertionMode,omitempty" allow:"enum=current_wave|next_wave|backlog,default=next_wave" jsonschema:"the open wave, the one after it, or one after all others"`
}

// AddOutput is the output of add_story_to_sprint.
type AddOutput struct {
	SprintID string    `json:"sprintId"`
	Story    StoryView `json:"story"`
	Waits    int       `json:"waits" jsonschema:"how many dependencies are not complete"`
}

// GetInput names a sprint.
type GetInput struct {
	SprintID string `json:"sprintId" allow:"nonempty,max=100,pattern=id"`
}

// ListInput is the input of list_sprints.
type ListInput struct {
	Status task.Status `json:"status,omitempty" allow:"enum=active|completing|done|all,default=all"`
	Cursor string      `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
	Limit  int         `json:"limit,omitempty" allow:"min=1,max=50,default=20"`
}

// ListOutput is the output of list_sprints.
type ListOutput struct {
	Sprints    []Entry `json:"sprints"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

// Entry is a sprint in a list, without its stories.
type Entry struct {
	SprintID    string      `json:"sprintId"`
	ProjectName string      `json:"projectName"`
	Branch      string      `json:"branch"`
	Status      task.Status `json:"status"`
	Stories     int         `json:"stories"`
	Waves       int         `json:"waves"`
	Source      string      `json:"source,omitempty"`
	Verified    bool        `json:"verified"`
	CreatedAt   time.Time   `json:"createdAt"`
	CompletedAt time.Time   `json:"completedAt,omitzero"`
	Summary     *Summary    `json:"summary,omitempty"`
}

// View is the representation of a sprint in answers.
type View struct {
	SprintID    string      `json:"sprintId"`
	ProjectName string      `json:"projectName"`
	Branch      string      `json:"branch"`
	Status      task.Status `json:"status" jsonschema:"active, completing once all stories have ended, or done"`
	Source      string      `json:"source,omitempty"`
	Verified    bool        `json:"verified"`
	SessionID   string      `json:"sessionId,omitempty"`
	Config      Config      `json:"config"`
	CreatedAt   time.Time   `json:"createdAt"`
	CompletedAt time.Time   `json:"completedAt,omitzero"`
	Summary     *Summary    `json:"summary,omitempty"`
	Board
}

// Said is the orchestrator's summary of a sprint. A nil field is counted from the stories.
type Said struct {
	Completed *int   `json:"completed,omitempty" allow:"min=0"`
	Failed    *int   `json:"failed,omitempty" allow:"min=0"`
	Skipped   *int   `json:"skipped,omitempty" allow:"min=0"`
	Duration  *int64 `json:"duration,omitempty" allow:"min=0" jsonschema:"seconds"`
}

// Summary is the result of a sprint: the numbers of its stories, and its duration in seconds.
type Summary struct {
	Completed int   `json:"completed"`
	Failed    int   `json:"failed"`
	Skipped   int   `json:"skipped"`
	Duration  int64 `json:"duration" jsonschema:"seconds"`
}

// CompleteInput is the input of complete_sprint.
type CompleteInput struct {
	SprintID string `json:"sprintId" allow:"nonempty,max=100,pattern=id"`
	Summary  Said   `json:"summary,omitzero" jsonschema:"what is left out is counted"`
}

// CompleteOutput is the output of complete_sprint.
type CompleteOutput struct {
	SprintID         string      `json:"sprintId"`
	Status           task.Status `json:"status"`
	Summary          Summary     `json:"summary"`
	CompletedAt      time.Time   `json:"completedAt"`
	AlreadyCompleted bool        `json:"alreadyCompleted,omitempty"`
}

// claims reports whether an update takes a story up.
func claims(in map[string]any) bool { return in["status"] == "active" }

// ServedByDefault makes its tools part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Operations returns the operations of the toolset sprint.
func (s *Service) Operations() []op.Op {
	const set = "sprint"
	return []op.Op{
		op.New(op.Spec{Name: "create_sprint", Starts: op.Always, Title: "Plan a sprint", Toolset: set, Route: "POST /v1/sprints",
			Effect: op.Write, Creates: true, Cases: createCases,
			Doc: "Plan a project for several agents: stories in waves, with dependencies and a retry policy. " +
				"Unknown and cyclic dependencies are refused by name. Take stories up with update_sprint_story; " +
				"get_sprint says what is ready."}, s.Create),
		op.New(op.Spec{Name: "update_sprint_story", Starts: claims, Title: "Update a story", Toolset: set,
			Route: "PATCH /v1/sprints/{sprintId}/stories/{storyId}", Effect: op.Write, Cases: updateCases,
			Doc: "Take up a story of a sprint (status active; of many agents one gets it), report progress, and end " +
				"it: complete, failed or skipped. Report at least once an hour, or it goes back to the queue."}, s.Update),
		op.New(op.Spec{Name: "add_story_to_sprint", Starts: op.Always, Title: "Add a story", Toolset: set,
			Route: "POST /v1/sprints/{sprintId}/stories", Effect: op.Write, Creates: true, Cases: addCases,
			Doc: "Add work that turned up to a running sprint: a story in the open wave, the next one, or the " +
				"backlog after all others."}, s.Add),
		op.New(op.Spec{Name: "get_sprint", Title: "Read a sprint", Toolset: set, Route: "GET /v1/sprints/{sprintId}",
			Effect: op.Read, Cases: getCases,
			Doc: "See how a sprint stands: its waves and stories, which are ready to take up, what each waits for, " +
				"and progress."}, s.Get),
		op.New(op.Spec{Name: "list_sprints", Title: "List sprints", Toolset: set, Route: "GET /v1/sprints",
			Effect: op.Read, Cases: listCases,
			Doc: "Find sprints, oldest first; get_sprint has their stories."}, s.List),
		op.New(op.Spec{Name: "complete_sprint", Starts: op.Never, Title: "Complete a sprint", Toolset: set,
			Route: "POST /v1/sprints/{sprintId}/complete", Effect: op.Write, Cases: completeCases,
			Doc: "Close a sprint with a summary. Stories that nobody took up are skipped; while one is active it is " +
				"refused."}, s.Complete),
	}
}
