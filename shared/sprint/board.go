package sprint

import (
	"slices"
	"time"

	"parley.internal/shared/task"
)

// words maps the statuses of stories to their names in answers.
var words = map[task.Status]string{task.Created: "queued", task.Active: "active", task.Blocked: "blocked",
	task.Done: "complete", task.Failed: "failed", task.Derezzed: "skipped"}

func word(s task.Status) string {
	if w, ok := words[s]; ok {
		return w
	}
	return string(s)
}

// status returns the status with that name, the empty status for an unknown name.
func status(w string) task.Status {
	for s, name := range words {
		if name == w {
			return s
		}
	}
	return ""
}

// StoryView is the representation of a story in answers.
type StoryView struct {
	ID            string    `json:"id"`
	TaskID        string    `json:"taskId"`
	Title         string    `json:"title"`
	Wave          int       `json:"wave"`
	Status        string    `json:"status" jsonschema:"queued, active, blocked, complete, failed or skipped"`
	Dependencies  []string  `json:"dependencies"`
	Complexity    string    `json:"complexity"`
	RetryPolicy   string    `json:"retryPolicy"`
	MaxRetries    int       `json:"maxRetries"`
	Retries       int       `json:"retries"`
	Progress      int       `json:"progress"`
	CurrentAction string    `json:"currentAction,omitempty"`
	Model         string    `json:"model,omitempty"`
	Source        string    `json:"source,omitempty"`
	Verified      bool      `json:"verified"`
	ClaimedBy     string    `json:"claimedBy,omitempty"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	CompletedAt   time.Time `json:"completedAt,omitzero"`
	Reason        string    `json:"reason,omitempty"`
}

func view(t task.Task) StoryView {
	p := t.Sprint
	v := StoryView{ID: p.StoryID, TaskID: docID(p.ParentID, p.StoryID), Title: t.Title, Wave: p.Wave,
		Status: word(t.Status), Dependencies: p.Dependencies, Complexity: p.Complexity, RetryPolicy: p.RetryPolicy,
		MaxRetries: p.MaxRetries, Retries: p.Retries, Progress: p.Progress, CurrentAction: p.CurrentAction,
		Model: p.Model, Source: t.Source, Verified: t.Verified, ClaimedBy: t.ClaimedBy, StartedAt: t.StartedAt,
		CompletedAt: t.CompletedAt, Reason: t.Reason}
	if v.Dependencies == nil {
		v.Dependencies = []string{}
	}
	return v
}

// Standing is a story with its open dependencies.
type Standing struct {
	StoryView
	WaitingFor []string `json:"waitingFor" jsonschema:"dependencies that are not complete"`
	BlockedBy  []string `json:"blockedBy" jsonschema:"those of them that ended without being complete: queue a failed one again, or skip this story"`
}

// Wave is the stories of one wave, in the order of the plan.
type Wave struct {
	Wave    int        `json:"wave"`
	Open    bool       `json:"open" jsonschema:"whether its stories may be taken up"`
	Ended   bool       `json:"ended"`
	Stories []Standing `json:"stories"`
}

// Counts holds the number of stories in each status.
type Counts struct {
	Queued   int `json:"queued"`
	Active   int `json:"active"`
	Blocked  int `json:"blocked"`
	Complete int `json:"complete"`
	Failed   int `json:"failed"`
	Skipped  int `json:"skipped"`
}

// Board is the state of a sprint, computed from its stories.
type Board struct {
	Waves    []Wave   `json:"waves"`
	Ready    []string `json:"ready" jsonschema:"ids of stories that can be taken up now"`
	Counts   Counts   `json:"counts"`
	Progress int      `json:"progress" jsonschema:"percent of all stories"`
}

// openWave returns the lowest wave with a story that has not ended, 0 if there is none.
func openWave(stories []task.Task) int {
	open := 0
	for _, t := range stories {
		if !t.Sprint.Ended && (open == 0 || t.Sprint.Wave < open) {
			open = t.Sprint.Wave
		}
	}
	return open
}

func count(stories []task.Task) (c Counts) {
	for _, t := range stories {
		switch t.Status {
		case task.Created:
			c.Queued++
		case task.Active:
			c.Active++
		case task.Blocked:
			c.Blocked++
		case task.Done:
			c.Complete++
		case task.Failed:
			c.Failed++
		case task.Derezzed:
			c.Skipped++
		}
	}
	return c
}

// boardOf returns the board of stories, which must be sorted by wave and order.
func boardOf(stories []task.Task) Board {
	b := Board{Waves: []Wave{}, Ready: []string{}, Counts: count(stories)}
	at := make(map[string]task.Task, len(stories))
	for _, t := range stories {
		at[t.Sprint.StoryID] = t
	}
	open, sum := openWave(stories), 0
	for _, t := range stories {
		p := t.Sprint
		if n := len(b.Waves); n == 0 || b.Waves[n-1].Wave != p.Wave {
			b.Waves = append(b.Waves, Wave{Wave: p.Wave, Open: p.Wave == open, Ended: true, Stories: []Standing{}})
		}
		w := &b.Waves[len(b.Waves)-1]
		w.Ended = w.Ended && p.Ended
		w.Stories = append(w.Stories, standing(t, at))
		if w.Open && t.Status == task.Created && t.Waits == 0 {
			b.Ready = append(b.Ready, p.StoryID)
		}
		if sum += p.Progress; p.Ended {
			sum += 100 - p.Progress
		}
	}
	b.Progress = sum / max(1, len(stories))
	return b
}

func standing(t task.Task, at map[string]task.Task) Standing {
	s := Standing{StoryView: view(t), WaitingFor: []string{}, BlockedBy: []string{}}
	if t.Sprint.Ended {
		return s
	}
	for _, d := range t.Sprint.Dependencies {
		on := at[d]
		if on.Status == task.Done {
			continue
		}
		s.WaitingFor = append(s.WaitingFor, d)
		if on.Sprint != nil && on.Sprint.Ended {
			s.BlockedBy = append(s.BlockedBy, d)
		}
	}
	slices.Sort(s.WaitingFor)
	return s
}
