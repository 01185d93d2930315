package signal

import (
	"context"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// What came to be is news for as long as its event may be delivered again; a change is news for
// an hour.
const (
	createdFor = 24 * time.Hour
	changedFor = time.Hour
)

// Reactions are the rings for tasks.
func (s *Service) Reactions() []domain.Reaction {
	return []domain.Reaction{
		{Name: "OnTaskCreate", Collection: task.Tasks.Name, Kind: store.Created, MaxAge: createdFor, Concerns: rings, Run: s.ringFor},
		{Name: "OnTaskUpdate", Collection: task.Tasks.Name, Kind: store.Updated, MaxAge: changedFor, Concerns: rings, Run: s.ringFor},
	}
}

func rings(kind store.EventKind, before, after store.Fields) bool {
	return occasionOf(kind, before, after) != ""
}

// ringFor rings for a change of a task, where it is an occasion to ring.
func (s *Service) ringFor(ctx context.Context, e store.Event) error {
	o := occasionOf(e.Kind, e.Before, e.After)
	if o == "" {
		return nil
	}
	t, err := task.Tasks.Decode(e.After)
	if err != nil {
		return err
	}
	return s.ring(ctx, e.Ref.User, e.ID, o.ring(e.Ref.ID, &t))
}

// Told says whether the event has rung, or was held back for good.
func (s *Service) Told(ctx context.Context, user, eventID string) (bool, error) {
	mark, err := pushes.Get(ctx, s.DB.User(user), pushID(eventID))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return mark.Done, err
}
