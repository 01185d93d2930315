package signal

import (
	"cmp"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// bodyLen is the largest length of a text in a push, in characters.
const bodyLen = 100

// occasion is the reason for which a change of a task sends a push, empty for none.
type occasion string

// The occasions. docs/console.md shows the push of each.
const (
	questionAsked occasion = "a question was asked"
	alertSent     occasion = "an alert was sent"
	dreamCreated  occasion = "a dream was created"
	taskForUser   occasion = "a task was created for the user"
	dreamEnded    occasion = "a dream is done or has failed"
	taskHalted    occasion = "a task is blocked or has failed"
	dreamBegun    occasion = "a dream was activated"
	taskDone      occasion = "a task is done"
)

// occasionOf returns the occasion of a change. It reads the stored fields of the document, because
// a change feed calls it for every write, before the commit.
func occasionOf(kind store.EventKind, before, after store.Fields) occasion {
	text := func(f store.Fields, name string) string { s, _ := f[name].(string); return s }
	typ, status := task.Type(text(after, "type")), task.Status(text(after, "status"))
	switch kind {
	case store.Created:
		switch {
		case typ == task.Question && after["question"] != nil:
			return questionAsked
		case typ == task.Alert:
			return alertSent
		case typ == task.Dream:
			return dreamCreated
		case typ == task.Work && text(after, "target") == human && task.Priority(text(after, "priority")) != task.Low:
			return taskForUser
		}
	case store.Updated:
		switch {
		case task.Status(text(before, "status")) == status:
		case typ == task.Dream && (status == task.Done || status == task.Failed):
			return dreamEnded
		case typ == task.Dream && status == task.Active && task.Status(text(before, "status")) == task.Created:
			return dreamBegun
		case typ == task.Work && status == task.Done:
			return taskDone
		case status == task.Failed || status == task.Blocked:
			return taskHalted
		}
	}
	return ""
}

// notification returns the push of an occasion, for the task after the change.
func (o occasion) notification(id string, t *task.Task) notification {
	n := push.Notice{TaskID: id, Type: string(t.Type), Priority: push.Priority(t.Priority), Channel: push.Tasks}
	r := notification{taskID: id, about: Tasks, until: t.ExpiresAt}
	switch o {
	case questionAsked:
		r.about, n.Channel, n.Body = Questions, push.Questions, t.Question.Content
		if t.Question.Assurance != identity.Passkey { // the page asks for it
			n.Options = t.Question.Options
		}
		n.Title = from(t, "An agent") + " needs your answer"
	case alertSent:
		r.about, n.Channel, n.Title, n.Body = Alerts, push.Alerts, alertTitle(t), t.Instructions
		r.quiet = t.AlertType == "info" || t.AlertType == "success"
	case dreamCreated:
		r.about, n.Channel, n.Title, n.Body = Dreams, push.Dreams, "Dream started", t.Title
	case taskForUser:
		n.Title, n.Body = "New task from "+from(t, "an agent"), t.Title
	case dreamEnded:
		r = notification{about: Dreams}
		n.Channel, n.Body = push.Dreams, t.Title
		n.Title = map[task.Status]string{task.Done: "Dream complete", task.Failed: "Dream failed"}[t.Status]
	case dreamBegun:
		r = notification{about: Dreams}
		n.Channel, n.Title, n.Body = push.Dreams, "Dream activated", t.Title
	case taskDone:
		r = notification{about: Completions}
		n.Title, n.Body = push.Line(t.Title, push.NameLen)+" is done", cmp.Or(t.Result, t.Note)
	case taskHalted:
		r = notification{about: Changes}
		n.Title = push.Line(t.Title, push.NameLen) + " is " + string(t.Status)
		n.Body = cmp.Or(t.Reason, t.Note, t.Result)
	}
	r.notice = n
	return r
}

// alertTitle returns the title of an alert: its type and source.
func alertTitle(t *task.Task) string {
	kind := cmp.Or(map[string]string{"error": "Error", "warning": "Warning", "success": "Success"}[t.AlertType], "Info")
	if t.Source == "" {
		return kind
	}
	return kind + " from " + from(t, "")
}

// from returns the source of a task for a title, or unknown if it has none.
func from(t *task.Task, unknown string) string {
	return cmp.Or(push.Line(t.Source, bodyLen), unknown)
}

// ttl returns the time for which the push waits for a device that is off: until the document
// expires, else a day.
func (r *notification) ttl(now time.Time) time.Duration {
	if r.until.IsZero() {
		return 24 * time.Hour
	}
	return r.until.Sub(now)
}
