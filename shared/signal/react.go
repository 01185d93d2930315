package signal

import (
	"context"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// The largest age of an event that still sends a push: for a creation as long as the event may be
// delivered again, for a change an hour.
const (
	createdFor = 24 * time.Hour
	changedFor = time.Hour
)

// Reactions returns the domain's reactions to changes of tasks: pushes, and the completion of answers that apps write.
func (s *Service) Reactions() []domain.Reaction {
	return []domain.Reaction{
		{
			Name:       "OnTaskCreate",
			Collection: task.Tasks.Name,
			Kind:       store.Created,
			MaxAge:     createdFor,
			Concerns:   concerns,
			Run:        s.notifyOf,
		},
		{
			Name:       "OnTaskUpdate",
			Collection: task.Tasks.Name,
			Kind:       store.Updated,
			MaxAge:     changedFor,
			Concerns: func(kind store.EventKind, before, after store.Fields) bool {
				return concerns(kind, before, after) || fromApp(before, after)
			},
			Run: s.updated,
		},
	}
}

func concerns(kind store.EventKind, before, after store.Fields) bool {
	return occasionOf(kind, before, after) != ""
}

// updated reacts to a change of a task.
func (s *Service) updated(ctx context.Context, e store.Event) error {
	if fromApp(e.Before, e.After) {
		return s.adopt(ctx, e.Ref.User, e.Ref.ID)
	}
	return s.notifyOf(ctx, e)
}

// notifyOf sends the push for a change of a task, if it is an occasion for one.
func (s *Service) notifyOf(ctx context.Context, e store.Event) error {
	o := occasionOf(e.Kind, e.Before, e.After)
	if o == "" {
		return nil
	}
	t, err := task.Tasks.Decode(e.After)
	if err != nil {
		return err
	}
	return s.notify(ctx, e.Ref.User, e.ID, o.notification(e.Ref.ID, &t))
}

// Told reports whether the push of an event was sent, or held back for good.
func (s *Service) Told(ctx context.Context, user, eventID string) (bool, error) {
	mark, err := pushes.Get(ctx, s.DB.User(user), pushID(eventID))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return mark.Done, err
}
