package team

import (
	"encoding/json"
	"time"

	"parley.internal/shared/op"
)

const (
	defaultPage  = 50
	maxPage      = 100
	defaultTasks = 100
	defaultWait  = 30 * time.Second
)

// CreateInput is the input of team_create.
type CreateInput struct {
	op.Idempotency
	TeamName    string `json:"team_name" allow:"max=1000" jsonschema:"letters, digits, hyphens and underscores, at most 64"`
	Description string `json:"description,omitempty" allow:"max=2000"`
	Model       string `json:"model,omitempty" allow:"max=100" jsonschema:"the model that the lead, you, runs on"`
	Cwd         string `json:"cwd,omitempty" allow:"max=1000" jsonschema:"the lead's working directory"`
}

// CreateOutput is the output of team_create.
type CreateOutput struct {
	TeamName      string `json:"team_name"`
	LeadAgentID   string `json:"lead_agent_id"`
	LeadSessionID string `json:"lead_session_id"`
}

// NameInput names a team.
type NameInput struct {
	TeamName string `json:"team_name" allow:"max=1000"`
}

// DeleteOutput is the output of team_delete.
type DeleteOutput struct {
	TeamName string `json:"team_name"`
	Deleted  bool   `json:"deleted"`
}

// SpawnInput is the input of team_spawn_teammate.
type SpawnInput struct {
	op.Idempotency
	TeamName         string `json:"team_name" allow:"max=1000"`
	Name             string `json:"name" allow:"max=1000" jsonschema:"letters, digits, hyphens and underscores, at most 64"`
	Prompt           string `json:"prompt" allow:"max=32000" jsonschema:"its first message"`
	Model            string `json:"model,omitempty" allow:"max=100"`
	SubagentType     string `json:"subagent_type,omitempty" allow:"max=100,default=general-purpose"`
	PlanModeRequired bool   `json:"plan_mode_required,omitempty"`
	Cwd              string `json:"cwd,omitempty" allow:"max=1000" jsonschema:"its working directory, below the runner's root"`
	BackendType      string `json:"backend_type,omitempty" allow:"enum=process|external,default=process" jsonschema:"process: a runner starts it; external: you do"`
}

// SpawnOutput is the output of team_spawn_teammate.
type SpawnOutput struct {
	AgentID   string `json:"agent_id"`
	Name      string `json:"name"`
	TeamName  string `json:"team_name"`
	Color     string `json:"color"`
	ProcessID string `json:"process_id,omitempty"`
	State     State  `json:"state,omitempty"`
	Message   string `json:"message"`
	Warning   string `json:"warning,omitempty" jsonschema:"why nothing starts the process now"`
}

// SendInput is the input of team_send_message.
type SendInput struct {
	op.Idempotency
	TeamName  string `json:"team_name" allow:"max=1000"`
	Type      string `json:"type" allow:"max=100" jsonschema:"message, broadcast, shutdown_request, shutdown_response or plan_approval_response"`
	Sender    string `json:"sender,omitempty" allow:"max=1000" jsonschema:"you: the key's program where it is bound to one, else team-lead where left out"`
	Recipient string `json:"recipient,omitempty" allow:"max=1000"`
	Content   string `json:"content,omitempty" allow:"max=32000"`
	Summary   string `json:"summary,omitempty" allow:"max=500" jsonschema:"in a few words"`
	RequestID string `json:"request_id,omitempty" allow:"max=200" jsonschema:"of the shutdown request that you answer"`
	Approve   bool   `json:"approve,omitempty"`
}

// Routing describes the delivery of a message.
type Routing struct {
	Sender      string `json:"sender"`
	Target      string `json:"target"`
	TargetColor string `json:"targetColor"`
	Summary     string `json:"summary"`
	Content     string `json:"content"`
}

// SendOutput is the output of team_send_message.
type SendOutput struct {
	Success    bool     `json:"success"`
	Message    string   `json:"message"`
	Routing    *Routing `json:"routing,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
	Target     string   `json:"target,omitempty"`
	Recipients []string `json:"recipients,omitempty" jsonschema:"whom a broadcast went to"`
}

// ReadInput is the input of team_read_inbox.
type ReadInput struct {
	TeamName   string `json:"team_name" allow:"max=1000"`
	AgentName  string `json:"agent_name" allow:"max=1000" jsonschema:"whose inbox; yours"`
	UnreadOnly bool   `json:"unread_only,omitempty"`
	MarkAsRead *bool  `json:"mark_as_read,omitempty" allow:"default=true"`
	Confirm    bool   `json:"confirm,omitempty" jsonschema:"ask for a receipt"`
	Receipt    string `json:"receipt,omitempty" allow:"max=100" jsonschema:"of your last read, which arrived"`
	Cursor     string `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
	Limit      int    `json:"limit,omitempty" allow:"min=1,max=100,default=50"`
}

// PollInput is the input of team_poll_inbox.
type PollInput struct {
	TeamName  string `json:"team_name" allow:"max=1000"`
	AgentName string `json:"agent_name" allow:"max=1000" jsonschema:"whose inbox; yours"`
	TimeoutMs *int   `json:"timeout_ms,omitempty" allow:"wait=30000" jsonschema:"wait this long for a first message"`
	Confirm   bool   `json:"confirm,omitempty" jsonschema:"ask for a receipt"`
	Receipt   string `json:"receipt,omitempty" allow:"max=100" jsonschema:"of your last read, which arrived"`
}

// InboxOutput is the output of team_read_inbox and team_poll_inbox.
type InboxOutput struct {
	Messages   []Message `json:"messages"`
	Receipt    string    `json:"receipt,omitempty" jsonschema:"pass it to your next read"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// CreateTaskInput is the input of team_task_create.
type CreateTaskInput struct {
	op.Idempotency
	TeamName    string          `json:"team_name" allow:"max=1000"`
	Subject     string          `json:"subject" allow:"max=500"`
	Description string          `json:"description" allow:"max=16000"`
	ActiveForm  string          `json:"active_form,omitempty" allow:"max=500" jsonschema:"the subject while it is done: Running tests"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// UpdateTaskInput is the input of team_task_update.
type UpdateTaskInput struct {
	TeamName     string          `json:"team_name" allow:"max=1000"`
	TaskID       string          `json:"task_id" allow:"max=100"`
	Status       Status          `json:"status,omitempty" allow:"max=100" jsonschema:"pending, in_progress, completed or deleted"`
	Owner        *string         `json:"owner,omitempty" allow:"max=1000" jsonschema:"who does it, and is told so; empty for nobody"`
	Subject      *string         `json:"subject,omitempty" allow:"max=500"`
	Description  *string         `json:"description,omitempty" allow:"max=16000"`
	ActiveForm   *string         `json:"active_form,omitempty" allow:"max=500"`
	AddBlocks    []string        `json:"add_blocks,omitempty" allow:"max=100,each=100" jsonschema:"tasks that wait for this one"`
	AddBlockedBy []string        `json:"add_blocked_by,omitempty" allow:"max=100,each=100" jsonschema:"tasks that this one waits for"`
	Metadata     json.RawMessage `json:"metadata,omitempty" jsonschema:"merged into what is there; null takes a key away"`
}

// UpdateTaskOutput is the output of team_task_update.
type UpdateTaskOutput struct {
	Task
	Warning string `json:"warning,omitempty"`
}

// ListTasksInput is the input of team_task_list.
type ListTasksInput struct {
	TeamName string `json:"team_name" allow:"max=1000"`
	Status   Status `json:"status,omitempty" allow:"max=100" jsonschema:"pending, in_progress or completed"`
	Owner    string `json:"owner,omitempty" allow:"max=1000"`
	Ready    bool   `json:"ready,omitempty" jsonschema:"only pending tasks that wait for no other"`
	Cursor   string `json:"cursor,omitempty" allow:"max=100" jsonschema:"a nextCursor"`
	Limit    int    `json:"limit,omitempty" allow:"min=1,max=200,default=100"`
}

// ListTasksOutput is the output of team_task_list.
type ListTasksOutput struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// TaskInput names a task.
type TaskInput struct {
	TeamName string `json:"team_name" allow:"max=1000"`
	TaskID   string `json:"task_id" allow:"max=100"`
}

// MemberInput names a teammate.
type MemberInput struct {
	TeamName  string `json:"team_name" allow:"max=1000"`
	AgentName string `json:"agent_name" allow:"max=1000"`
}

// RemoveOutput is the output of team_force_kill_teammate and team_process_shutdown_approved.
type RemoveOutput struct {
	Success       bool     `json:"success"`
	Message       string   `json:"message"`
	ReleasedTasks []string `json:"released_tasks" jsonschema:"its unfinished tasks, pending again"`
	ProcessState  State    `json:"process_state,omitempty"`
}

// HeartbeatInput is the input of team_heartbeat.
type HeartbeatInput struct {
	TeamName  string `json:"team_name" allow:"max=1000"`
	AgentName string `json:"agent_name" allow:"max=1000" jsonschema:"you"`
	State     State  `json:"state,omitempty" allow:"enum=starting|running|exited|failed|killed|lost,default=running" jsonschema:"of its process"`
	PID       int64  `json:"pid,omitempty" allow:"min=1"`
}

// HeartbeatOutput is the output of team_heartbeat.
type HeartbeatOutput struct {
	TeamName      string    `json:"team_name"`
	AgentName     string    `json:"agent_name"`
	Active        bool      `json:"active"`
	LeaseUntil    time.Time `json:"lease_until,omitzero" jsonschema:"send the next heartbeat before"`
	ReleasedTasks []string  `json:"released_tasks"`
}

// ProcessesInput is the input of team_list_processes.
type ProcessesInput struct {
	TeamName string `json:"team_name" allow:"max=1000"`
	Runner   string `json:"runner,omitempty" allow:"max=100,pattern=id" jsonschema:"an id that this runner alone knows: only what it is to start or to end"`
	Held     bool   `json:"held,omitempty" jsonschema:"what the runner holds instead"`
	WaitMs   int    `json:"wait_ms,omitempty" allow:"wait=0"`
}

// ProcessesOutput is the output of team_list_processes.
type ProcessesOutput struct {
	Processes []Process `json:"processes"`
}

// ClaimInput is the input of team_claim_process.
type ClaimInput struct {
	TeamName  string `json:"team_name" allow:"max=1000"`
	ProcessID string `json:"process_id" allow:"max=100,pattern=id"`
	Runner    string `json:"runner" allow:"nonempty,max=100,pattern=id"`
}

// ClaimOutput is the output of team_claim_process.
type ClaimOutput struct {
	Process        Process `json:"process"`
	Key            string  `json:"key,omitempty" jsonschema:"the member's own key, for its process alone; it ends with the process"`
	AlreadyClaimed bool    `json:"already_claimed"`
}

// ReportInput is the input of team_report_process.
type ReportInput struct {
	TeamName  string `json:"team_name" allow:"max=1000"`
	ProcessID string `json:"process_id" allow:"max=100,pattern=id"`
	Runner    string `json:"runner" allow:"nonempty,max=100,pattern=id"`
	State     State  `json:"state" allow:"enum=running|exited|failed|killed|lost"`
	PID       int64  `json:"pid,omitempty" allow:"min=1"`
	StartedAt string `json:"started_at,omitempty" allow:"max=100"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Signal    string `json:"signal,omitempty" allow:"max=100"`
	Error     string `json:"error,omitempty" allow:"max=2000"`
	LogFile   string `json:"log_file,omitempty" allow:"max=4000"`
}

// ReportOutput is the output of team_report_process.
type ReportOutput struct {
	Process Process `json:"process"`
}
