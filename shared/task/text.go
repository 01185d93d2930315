package task

import (
	"slices"
	"strings"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// text is the text of the task for search: its title and everything that was written on it.
func (t *Task) text(r store.Ref) store.Text {
	kind, body := "task", []string{t.Instructions, t.Result, t.Reason, t.Note, t.Context}
	if q := t.Question; q != nil {
		body = append([]string{q.Content, strings.Join(q.Options, "\n"), q.Response}, body...)
	}
	if t.Type == Question {
		kind = "question"
	}
	return store.Text{Kind: kind, ID: r.ID, Title: t.Title, Body: store.Paragraphs(body...), At: t.CreatedAt,
		Programs: identity.Names(t.Source, t.ClaimedBy, t.Target), Readers: t.readers()}
}

// readers are the programs that the task concerns; see [Task.Concerns].
func (t *Task) readers() []string {
	own := t.Owner().Program
	if t.Type == Question {
		return identity.Names(own)
	}
	queues := append([]string{t.Target}, t.Fallback...)
	if slices.ContainsFunc(queues, func(name string) bool { return identity.Same(name, Any) }) {
		return []string{store.Everybody}
	}
	return identity.Names(append(queues, own, t.ClaimedBy)...)
}

// Concerns reports whether the caller created the task, holds or held it last, or has it in its queue: that of its
// program, or of every program. A question concerns who asked it, and everything concerns a person.
func (t *Task) Concerns(c identity.Caller) bool {
	if t.Owner().Is(c) {
		return true
	}
	if t.Type == Question {
		return false
	}
	return t.ClaimedBy != "" && identity.Same(t.ClaimedBy, c.Actor()) || t.queued(c, t.Target) ||
		slices.ContainsFunc(t.Fallback, func(name string) bool { return t.queued(c, name) })
}

// queued reports whether a queue is the caller's.
func (t *Task) queued(c identity.Caller, queue string) bool {
	return identity.Same(queue, Any) || c.Bound() && identity.Same(queue, c.Program)
}
