package signal

import (
	"slices"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// bodyLen is how much of a text a push shows, in characters.
const bodyLen = 100

// created is what rings when a task comes to be; false where nothing does. The rules
// are the table of pushes in the specification.
func created(id string, t *task.Task) (ring, bool) {
	n := push.Notice{TaskID: id, Type: string(t.Type), Priority: push.Priority(t.Priority)}
	r := ring{taskID: id, about: Tasks, until: t.ExpiresAt}
	switch {
	case t.Type == task.Question && t.Question != nil:
		r.about, n.Channel, n.Body, n.Options = Questions, push.Questions, t.Question.Content, t.Question.Options
		n.Title = from(t, "An agent") + " needs your answer"
	case t.Type == task.Alert:
		r.about, n.Channel, n.Body = Alerts, push.Alerts, t.Instructions
		n.Title = alertTitle(t)
		r.quiet = t.AlertType == "info" || t.AlertType == "success"
	case t.Type == task.Dream:
		r.about, n.Channel, n.Title, n.Body = Dreams, push.Dreams, "Dream started", t.Title
	case t.Type == task.Work && t.Target == human && t.Priority != task.Low:
		n.Channel, n.Title, n.Body = push.Tasks, "New task from "+from(t, "an agent"), t.Title
	default:
		return ring{}, false
	}
	r.notice = n
	return r, true
}

// changed is what rings when a task goes from one status to another.
func changed(id string, before, after *task.Task) (ring, bool) {
	if before.Status == after.Status {
		return ring{}, false
	}
	n := push.Notice{TaskID: id, Type: string(after.Type), Priority: push.Priority(after.Priority), Channel: push.Tasks}
	r := ring{about: Changes}
	switch {
	case after.Type == task.Dream && (after.Status == task.Done || after.Status == task.Failed):
		r.about, n.Channel, n.Body = Dreams, push.Dreams, after.Title
		n.Title = map[task.Status]string{task.Done: "Dream complete", task.Failed: "Dream failed"}[after.Status]
	case after.Status == task.Failed || after.Status == task.Blocked:
		n.Title = push.Line(after.Title, push.NameLen) + " is " + string(after.Status)
		n.Body = firstOf(after.Reason, after.Note, after.Result)
	default:
		return ring{}, false
	}
	r.notice = n
	return r, true
}

// ConcernsTask says whether a task's change may ring anyone, by its fields alone: a
// store that keeps changes for later keeps only these.
func (s *Service) ConcernsTask(kind store.EventKind, before, after store.Fields) bool {
	if kind == store.Created {
		return after["target"] == human || slices.Contains([]any{string(task.Question), string(task.Alert), string(task.Dream)}, after["type"])
	}
	to := after["status"]
	return kind == store.Updated && before["status"] != to && slices.Contains([]any{string(task.Failed), string(task.Blocked), string(task.Done)}, to) &&
		(to != string(task.Done) || after["type"] == string(task.Dream))
}

// alertTitle names an alert by its kind.
func alertTitle(t *task.Task) string {
	kind := map[string]string{"error": "Error", "warning": "Warning", "success": "Success"}[t.AlertType]
	if kind == "" {
		kind = "Info"
	}
	if t.Source == "" {
		return kind
	}
	return kind + " from " + from(t, "")
}

// from is the source of a task as a title shows it.
func from(t *task.Task, unknown string) string {
	if s := push.Line(t.Source, bodyLen); s != "" {
		return s
	}
	return unknown
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// ttl is for how long a device that is off is waited for: as long as the document is
// news, else a day.
func (r *ring) ttl(now time.Time) time.Duration {
	if r.until.IsZero() {
		return 24 * time.Hour
	}
	return r.until.Sub(now)
}
