package pulse

import (
	"context"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Notifier sends pushes to a human's devices.
type Notifier interface {
	// NotifyChange sends a push about work that is blocked or has failed. It sends one push for
	// each event id, however often it is called.
	NotifyChange(ctx context.Context, user, eventID string, n push.Notice) error
	// NotifyDone does the same for work that is complete, where the person wants such pushes.
	NotifyDone(ctx context.Context, user, eventID string, n push.Notice) error
}

// Reactions returns the domain's reaction to changes of sessions: a push.
func (s *Service) Reactions() []domain.Reaction {
	concerns := func(kind store.EventKind, before, after store.Fields) bool { return halt(kind, before, after) != "" }
	return []domain.Reaction{{Name: "OnSessionUpdate", Collection: sessions.Name, Kind: store.Updated, MaxAge: time.Hour,
		Concerns: concerns, Run: s.notifyOf}}
}

// complete is the end of a session that sends a push only to those who want it.
const complete = "complete"

// halt returns "failed", "blocked" or complete if a change of a session sends a push, else "". A pinned
// session waits because its agent chose to, and sends none. halt reads the stored fields of the
// document, because a change feed calls it for every write.
func halt(kind store.EventKind, before, after store.Fields) string {
	became := func(name, value string) bool { return after[name] == value && before[name] != value }
	switch live := after["lifecycle"] == string(task.Active) || after["lifecycle"] == string(task.Blocked); {
	case kind != store.Updated:
	case became("lifecycle", string(task.Failed)):
		return "failed"
	case became("state", string(Complete)):
		return complete
	case became("state", string(Blocked)) && live:
		return "blocked"
	}
	return ""
}

// notifyOf sends the push about a session that is blocked, has failed or is complete.
func (s *Service) notifyOf(ctx context.Context, e store.Event) error {
	how := halt(e.Kind, e.Before, e.After)
	if how == "" {
		return nil
	}
	v, err := sessions.Decode(e.After)
	if err != nil {
		return err
	}
	n := halted(v.id(e.Ref.ID), &v, how)
	if how == complete {
		return s.Notifier.NotifyDone(ctx, e.Ref.User, e.ID, n)
	}
	return s.Notifier.NotifyChange(ctx, e.Ref.User, e.ID, n)
}

func halted(id string, v *Session, how string) push.Notice {
	return push.Notice{Channel: push.Tasks, Type: "session", SessionID: id, Priority: push.Normal,
		Title: push.Line(v.Name, push.NameLen) + " is " + how, Body: v.Status}
}
