package signal

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// TaskCreated rings for a task that came to be, where it is one that rings.
func (s *Service) TaskCreated(ctx context.Context, e store.Event) error {
	t, err := task.Tasks.Decode(e.After)
	if err != nil {
		return err
	}
	r, ok := created(e.Ref.ID, &t)
	if !ok {
		return nil
	}
	return s.ring(ctx, e.Ref.User, e.ID, r)
}

// TaskUpdated rings for a task that went from one status to another, where that rings.
func (s *Service) TaskUpdated(ctx context.Context, e store.Event) error {
	before, err := task.Tasks.Decode(e.Before)
	if err != nil {
		return err
	}
	after, err := task.Tasks.Decode(e.After)
	if err != nil {
		return err
	}
	r, ok := changed(e.Ref.ID, &before, &after)
	if !ok {
		return nil
	}
	return s.ring(ctx, e.Ref.User, e.ID, r)
}

// Told says whether the event has rung, or was held back for good.
func (s *Service) Told(ctx context.Context, user, eventID string) (bool, error) {
	mark, err := pushes.Get(ctx, s.DB.User(user), pushID(eventID))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return mark.Done, err
}
