package pulse

import (
	"context"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Bell rings a human.
type Bell interface {
	// RingChange tells that something is blocked or has failed. The same event again
	// rings no second time.
	RingChange(ctx context.Context, user, eventID string, n push.Notice) error
}

// ConcernsSession says whether a session's change may ring anyone, by its fields alone.
func (s *Service) ConcernsSession(kind store.EventKind, before, after store.Fields) bool {
	return kind == store.Updated && (after["state"] == string(Blocked) && before["state"] != string(Blocked) ||
		after["lifecycle"] == string(task.Failed) && before["lifecycle"] != string(task.Failed))
}

// SessionUpdated rings for a session that is blocked or has failed.
func (s *Service) SessionUpdated(ctx context.Context, e store.Event) error {
	before, err := sessions.Decode(e.Before)
	if err != nil {
		return err
	}
	after, err := sessions.Decode(e.After)
	if err != nil {
		return err
	}
	n, ok := news(e.Ref.ID, &before, &after)
	if !ok {
		return nil
	}
	return s.Bell.RingChange(ctx, e.Ref.User, e.ID, n)
}

// news is what is told of a session that goes from one state to another. One that is
// pinned waits as it was told to, and nobody needs to know.
func news(id string, before, after *Session) (push.Notice, bool) {
	what := ""
	switch {
	case after.Lifecycle == task.Failed && before.Lifecycle != task.Failed:
		what = "failed"
	case after.State == Blocked && before.State != Blocked && after.Live():
		what = "blocked"
	default:
		return push.Notice{}, false
	}
	return push.Notice{Channel: push.Tasks, Type: "session", SessionID: id, Priority: push.Normal,
		Title: push.Line(after.Name, push.NameLen) + " is " + what, Body: after.Status}, true
}
