package pulse

import (
	"context"
	"time"

	"parley.internal/shared/domain"
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

// Reactions are the rings for sessions.
func (s *Service) Reactions() []domain.Reaction {
	return []domain.Reaction{{Name: "OnSessionUpdate", Collection: sessions.Name, Kind: store.Updated, MaxAge: time.Hour,
		Concerns: func(kind store.EventKind, before, after store.Fields) bool { return halt(kind, before, after) != "" }, Run: s.ringFor}}
}

// halt is the one rule of which change of a session rings: "failed", "blocked", or empty for
// none. A pinned session waits as its agent meant it to, and does not ring. The rule reads the
// fields of a document as they are stored, because a change feed asks it of every write.
func halt(kind store.EventKind, before, after store.Fields) string {
	became := func(name, value string) bool { return after[name] == value && before[name] != value }
	switch live := after["lifecycle"] == string(task.Active) || after["lifecycle"] == string(task.Blocked); {
	case kind != store.Updated:
	case became("lifecycle", string(task.Failed)):
		return "failed"
	case became("state", string(Blocked)) && live:
		return "blocked"
	}
	return ""
}

// ringFor rings for a session that is blocked or has failed.
func (s *Service) ringFor(ctx context.Context, e store.Event) error {
	how := halt(e.Kind, e.Before, e.After)
	if how == "" {
		return nil
	}
	v, err := sessions.Decode(e.After)
	if err != nil {
		return err
	}
	return s.Bell.RingChange(ctx, e.Ref.User, e.ID, halted(e.Ref.ID, &v, how))
}

func halted(id string, v *Session, how string) push.Notice {
	return push.Notice{Channel: push.Tasks, Type: "session", SessionID: id, Priority: push.Normal,
		Title: push.Line(v.Name, push.NameLen) + " is " + how, Body: v.Status}
}
