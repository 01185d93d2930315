package task

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Type is the type of a task.
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

// Priority is the priority of a task in a queue.
type Priority string

// The priorities.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
)

// Rank returns the priority as a number: 2 for High, 0 for Low, else 1.
func (p Priority) Rank() int {
	switch p {
	case High:
		return 2
	case Low:
		return 0
	}
	return 1
}

// Provenance is the author's statement on the origin of a text.
type Provenance struct {
	Model      string  `json:"model,omitempty" allow:"max=100"`
	CostTokens float64 `json:"cost_tokens,omitempty" allow:"min=0"`
	Confidence float64 `json:"confidence,omitempty" allow:"min=0,max=1"`
}

// DreamSpec holds the limits of a dream.
type DreamSpec struct {
	Agent        string  `json:"agent,omitempty" allow:"max=100" jsonschema:"the agent that dreams"`
	BudgetCapUSD float64 `json:"budget_cap_usd,omitempty" allow:"min=0" jsonschema:"what it may cost at most, in US dollars"`
	Branch       string  `json:"branch,omitempty" allow:"max=200" jsonschema:"the branch to work on"`
	TimeoutHours float64 `json:"timeout_hours,omitempty" allow:"over=0,max=168"`
}

// QuestionPart holds the fields of a question and its answer.
type QuestionPart struct {
	Content string   `json:"content"`
	Options []string `json:"options"`
	// Assurance is that which an answer needs; a question from before has none, which is local.
	Assurance  identity.Assurance `json:"assurance,omitempty"`
	Response   string             `json:"response,omitempty"`
	AnsweredAt time.Time          `json:"answeredAt,omitzero"`
	AnsweredBy string             `json:"answeredBy,omitempty"`
	// AnsweredWith is the assurance of the person who answered.
	AnsweredWith identity.Assurance `json:"answeredWith,omitempty"`
}

// SprintPart holds the fields of a sprint or of a story.
type SprintPart struct {
	// Of a sprint.
	ProjectName string          `json:"projectName,omitempty"`
	Branch      string          `json:"branch,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	Summary     json.RawMessage `json:"summary,omitempty"`
	Stories     int             `json:"stories,omitempty"`  // the number of its stories
	LastWave    int             `json:"lastWave,omitempty"` // the highest wave of a story

	// Of a story.
	ParentID string `json:"parentId,omitempty"`
	StoryID  string `json:"storyId,omitempty"`
	Wave     int    `json:"wave"`
	Order    int    `json:"order"` // its position in the sprint
	// Ended means that the wave does not wait for the story: it is done, failed or skipped.
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
	// Planner is the caller that created the sprint of the story.
	Planner identity.Owner `json:"planner,omitzero"`
	// The last report of a failure: the token of the claim that failed, and the caller that reported it. A repeated
	// report changes nothing.
	FailedToken int64  `json:"failedToken,omitempty"`
	FailedBy    string `json:"failedBy,omitempty"`
}

// Usage is the cost of a task as reported by the agent that completed it.
type Usage struct {
	TokensIn  int64   `json:"tokens_in,omitempty"`
	TokensOut int64   `json:"tokens_out,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`
}

// Task is a document of the collection [Tasks].
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
	// Maker is the caller that created the task. Tasks from before ownership was kept have none; see [Task.Owner].
	Maker identity.Owner `json:"maker,omitzero"`

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
	// EndedBy and CancelledBy are the callers that ended the task and cancelled it before its end, as
	// identity.Caller.Actor names them.
	EndedBy     string `json:"endedBy,omitempty"`
	CancelledBy string `json:"cancelledBy,omitempty"`

	Question *QuestionPart `json:"question,omitempty"`
	// AnswerBox is the inbox, folded, for which the answer to a question waits to be told, empty where it was told or is
	// fetched by its asker. AnswerReceipt names a telling that was not confirmed, after which the answer comes again.
	AnswerBox     string     `json:"answerBox,omitempty"`
	AnswerReceipt string     `json:"answerReceipt,omitempty"`
	AnswerDueAt   time.Time  `json:"answerDueAt,omitzero"`
	Dream         *DreamSpec `json:"dream,omitempty"`
	// AlertType is the kind of an alert.
	AlertType string      `json:"alertType,omitempty"`
	Sprint    *SprintPart `json:"sprint,omitempty"`
	// Waits is the number of dependencies of a story that are not complete. It is not part of
	// Sprint, because completions decrement it without reading the story.
	Waits int `json:"waits,omitempty"`

	PurgeAt time.Time `json:"purgeAt,omitzero"`
}

// Retention is the time for which a task is kept after its end.
const Retention = 30 * 24 * time.Hour

// Tasks is the collection of tasks. A queue is a query by status and route, high priority first,
// then oldest; type and source filter it. Each index adds a row for each route to a create, so a
// query for any status names all statuses instead of using another index.
var Tasks = store.Collection[Task]{Name: "tasks", PartOf: "a task", Indexes: []string{
	"status,routes[],rank desc,createdAt",
	// For stories; other tasks have no such fields, and so no rows.
	"sprint.parentId,sprint.wave,sprint.order", "sprint.parentId,sprint.ended,sprint.wave",
	// For questions, in the same way.
	"answerBox,createdAt desc",
}, Filters: []string{"type,rank desc,createdAt", "source,rank desc,createdAt"},
	AllUsers: []string{"status,expiresAt", "purgeAt"}, Unindexed: []string{"instructions", "result", "context", "title",
		"question", "note"}, Log: "task", Note: (*Task).logged, Text: (*Task).text}

// logged describes the task in the log. Its kind is its type: task, question, story.
func (t *Task) logged(string) store.Note {
	return store.Note{Kind: string(t.Type), Line: t.Title, State: string(t.Status), Program: cmp.Or(t.ClaimedBy, t.Target)}
}

// Owner returns the caller that created the task. A task without a maker is its verified source's, or else a human's.
func (t *Task) Owner() identity.Owner {
	if t.Maker == (identity.Owner{}) && t.Verified {
		return identity.Owner{Program: t.Source}
	}
	return t.Maker
}

// User is the target of a task for the people of the account.
const User = "user"

// Any is the target of a task that every program may claim.
const Any = "any"

// Everywhere is the route of all tasks in an unfiltered queue.
const Everywhere = "*"

// Route sets the fields that are derived from others: Rank, Routes and, while the task has not
// ended, PurgeAt. The routes are the folded names of the target and the fallbacks, and Everywhere; alerts, sprints and
// stories have routes of their type only. Route must be called after every change of the task.
func (t *Task) Route() {
	if !t.Status.Ended() {
		t.PurgeAt = time.Time{}
		if t.Status == Created && !t.ExpiresAt.IsZero() {
			t.PurgeAt = t.ExpiresAt.Add(Retention)
		}
	}
	t.Rank = t.Priority.Rank()
	target := identity.Fold(t.Target)
	t.Routes = []string{Everywhere, target}
	switch {
	case t.Type.Apart():
		t.Routes = []string{TypeRoute(t.Type, Everywhere), TypeRoute(t.Type, target)}
	case t.Type == Question:
		t.Routes = append(t.Routes, TypeRoute(Question, Everywhere))
	}
	for _, f := range t.Fallback {
		f = identity.Fold(f)
		if !slices.Contains(t.Routes, f) {
			t.Routes = append(t.Routes, f)
		}
	}
}

// TypeRoute returns the route of tasks of one type to a target. It exists for the types of
// [Type.Apart], and with the target Everywhere for questions.
func TypeRoute(t Type, target string) string { return string(t) + ":" + target }

// Apart reports whether tasks of the type appear only in queries for the type. Agents do not
// take them from a queue.
func (t Type) Apart() bool { return t == Alert || t == Sprint || t == Story }

// Expired reports whether the task is still created and past its expiry.
func (t *Task) Expired(now time.Time) bool {
	return t.Status == Created && !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}

// End gives a task a final status, with the time of its end and its purge time.
func (t *Task) End(s Status, now time.Time) {
	t.Status, t.CompletedAt, t.PurgeAt = s, now, now.Add(Retention)
}

// Targets returns the condition that a task is in the queue of a name: it is for the name or for any, or falls back to it.
// Tasks stored before names were folded are found by the spelling of the name.
func Targets(name string) store.Cond {
	routes := []any{identity.Fold(name), Any}
	if routes[0] != name {
		routes = append(routes, name)
	}
	return store.ContainsAny("routes", routes...)
}
