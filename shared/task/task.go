package task

import (
	"encoding/json"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// Type says what a task is.
type Type string

// The types.
const (
	Work     Type = "task"
	Question Type = "question"
	Alert    Type = "alert"
	Dream    Type = "dream"
	Sprint   Type = "sprint"
	Story    Type = "sprint-story"
)

// Priority orders a queue.
type Priority string

// The priorities.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
)

// Rank is the priority as the number that orders queues: high first.
func (p Priority) Rank() int {
	switch p {
	case High:
		return 2
	case Low:
		return 0
	}
	return 1
}

// Provenance is what an author says of how a text came about.
type Provenance struct {
	Model      string  `json:"model,omitempty" allow:"max=100"`
	CostTokens float64 `json:"cost_tokens,omitempty" allow:"min=0"`
	Confidence float64 `json:"confidence,omitempty" allow:"min=0,max=1"`
}

// DreamSpec is what a dream may do.
type DreamSpec struct {
	Agent        string  `json:"agent,omitempty" allow:"max=100" jsonschema:"the agent that dreams"`
	BudgetCapUSD float64 `json:"budget_cap_usd,omitempty" allow:"min=0" jsonschema:"what it may cost at most, in US dollars"`
	Branch       string  `json:"branch,omitempty" allow:"max=200" jsonschema:"the branch to work on"`
	TimeoutHours float64 `json:"timeout_hours,omitempty" allow:"over=0,max=168"`
}

// QuestionPart is the question that a task of that type asks.
type QuestionPart struct {
	Content    string    `json:"content"`
	Options    []string  `json:"options"`
	Response   string    `json:"response,omitempty"`
	AnsweredAt time.Time `json:"answeredAt,omitzero"`
	AnsweredBy string    `json:"answeredBy,omitempty"`
}

// SprintPart is what a sprint or one of its stories has beside the rest of a task.
type SprintPart struct {
	// Of a sprint.
	ProjectName string          `json:"projectName,omitempty"`
	Branch      string          `json:"branch,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	Summary     json.RawMessage `json:"summary,omitempty"`
	Stories     int             `json:"stories,omitempty"`  // how many it has
	LastWave    int             `json:"lastWave,omitempty"` // the highest wave of a story

	// Of a story.
	ParentID string `json:"parentId,omitempty"`
	StoryID  string `json:"storyId,omitempty"`
	Wave     int    `json:"wave"`
	Order    int    `json:"order"` // its place in the sprint
	// Ended says that its wave need not wait for it: it is done, failed for good or skipped.
	Ended         bool     `json:"ended"`
	Dependencies  []string `json:"dependencies,omitempty"` // story ids
	Dependents    []string `json:"dependents,omitempty"`
	Complexity    string   `json:"complexity,omitempty"`
	RetryPolicy   string   `json:"retryPolicy,omitempty"`
	MaxRetries    int      `json:"maxRetries,omitempty"`
	Retries       int      `json:"retries,omitempty"`
	Progress      int      `json:"progress,omitempty"`
	CurrentAction string   `json:"currentAction,omitempty"`
	Model         string   `json:"model,omitempty"`
}

// Usage is what a task cost, as the one who completed it says.
type Usage struct {
	TokensIn  int64   `json:"tokens_in,omitempty"`
	TokensOut int64   `json:"tokens_out,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`
}

// Task is a document of the collection.
type Task struct {
	Type         Type        `json:"type"`
	Title        string      `json:"title"`
	Instructions string      `json:"instructions,omitempty"`
	Status       Status      `json:"status"`
	Priority     Priority    `json:"priority"`
	Rank         int         `json:"rank"`
	Action       string      `json:"action,omitempty"`
	Source       string      `json:"source,omitempty"`
	Verified     bool        `json:"verified"`
	Target       string      `json:"target"`
	Fallback     []string    `json:"fallback,omitempty"`
	Routes       []string    `json:"routes"`
	ProjectID    string      `json:"projectId,omitempty"`
	ReplyTo      string      `json:"replyTo,omitempty"`
	ThreadID     string      `json:"threadId,omitempty"`
	Context      string      `json:"context,omitempty"`
	Provenance   *Provenance `json:"provenance,omitempty"`
	CreatedAt    time.Time   `json:"createdAt"`
	ExpiresAt    time.Time   `json:"expiresAt,omitzero"`

	ClaimedBy   string    `json:"claimedBy,omitempty"`
	SessionID   string    `json:"sessionId,omitempty"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	ClaimToken  int64     `json:"claimToken"`
	Attempts    int       `json:"attempts"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	Outcome     Status    `json:"outcome,omitempty"`
	Result      string    `json:"result,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Usage       *Usage    `json:"usage,omitempty"`
	Note        string    `json:"note,omitempty"`
	NotedAt     time.Time `json:"notedAt,omitzero"`

	Question *QuestionPart `json:"question,omitempty"`
	Dream    *DreamSpec    `json:"dream,omitempty"`
	// AlertType is the kind of an alert.
	AlertType string      `json:"alertType,omitempty"`
	Sprint    *SprintPart `json:"sprint,omitempty"`
	// Waits is how many dependencies of a story are not complete yet. It stands
	// apart from the rest of the story, because others count it down without reading it.
	Waits int `json:"waits,omitempty"`

	PurgeAt time.Time `json:"purgeAt,omitzero"`
}

// Retention is how long a task is kept after its end.
const Retention = 30 * 24 * time.Hour

// Tasks is the collection. A queue is read by status and route, high priority
// first, then oldest; type and source narrow it. Each index costs a create a row a
// route, so what wants any status names all of them.
var Tasks = store.Collection[Task]{Name: "tasks", Indexes: []string{
	"status,routes[],rank desc,createdAt",
	// Of the stories of a sprint alone: other tasks have no such fields, and no rows.
	"sprint.parentId,sprint.wave,sprint.order", "sprint.parentId,sprint.ended,sprint.wave",
}, Filters: []string{"type,rank desc,createdAt", "source,rank desc,createdAt"},
	AllUsers: []string{"status,expiresAt", "purgeAt"}, Unindexed: []string{"instructions", "result", "context", "title",
		"question", "note"}}

// Any is the target of a task that anyone may claim.
const Any = "any"

// Everywhere is the route of everything that shows in an unfiltered queue.
const Everywhere = "*"

// Route fills in what follows from the rest: the routes by which queues find the
// task (its target, those it falls back to, and everywhere; alerts, sprints and
// stories show only to who asks for their type), and while it lives, when the store may forget it.
func (t *Task) Route() {
	if !t.Status.Ended() {
		t.PurgeAt = time.Time{}
		if t.Status == Created && !t.ExpiresAt.IsZero() {
			t.PurgeAt = t.ExpiresAt.Add(Retention)
		}
	}
	t.Rank = t.Priority.Rank()
	t.Routes = []string{Everywhere, t.Target}
	switch {
	case t.Type.Apart():
		t.Routes = []string{TypeRoute(t.Type, Everywhere), TypeRoute(t.Type, t.Target)}
	case t.Type == Question:
		t.Routes = append(t.Routes, TypeRoute(Question, Everywhere))
	}
	for _, f := range t.Fallback {
		if !slices.Contains(t.Routes, f) {
			t.Routes = append(t.Routes, f)
		}
	}
}

// TypeRoute is the route of one type of task to a target: of the types that are
// apart, and of all questions.
func TypeRoute(t Type, target string) string { return string(t) + ":" + target }

// Apart says whether tasks of the type show only to who asks for the type: nobody
// takes them from a queue.
func (t Type) Apart() bool { return t == Alert || t == Sprint || t == Story }

// Expired says whether the task was not taken up in time.
func (t *Task) Expired(now time.Time) bool {
	return t.Status == Created && !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}

// End ends a task in its last status, and has it deleted when its retention is over.
func (t *Task) End(s Status, now time.Time) {
	t.Status, t.CompletedAt, t.PurgeAt = s, now, now.Add(Retention)
}
