package signal

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// fromApp reports whether a change is the answer of an app that writes to Firestore directly, as firestore.rules allow.
// Such an app cannot compute the exact purge time, by which its answers differ from those of [Service.Answer].
func fromApp(before, after store.Fields) bool {
	if before["status"] != string(task.Created) || after["status"] != string(task.Done) || after["type"] != string(task.Question) {
		return false
	}
	t, err := task.Tasks.Decode(after)
	return err == nil && incomplete(t)
}

// incomplete reports whether an answered question lacks the exact purge time.
func incomplete(t task.Task) bool {
	return t.Type == task.Question && t.Status == task.Done && !t.PurgeAt.Equal(t.CompletedAt.Add(task.Retention))
}

// adopt completes an answer of an app: it sets the exact purge time, in a commit that enters the log and the index of the
// search, neither of which an app writes. A second delivery of the event changes nothing.
func (s *Service) adopt(ctx context.Context, user, id string) error {
	err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := task.Tasks.Get(ctx, tx, id)
		if err != nil || !incomplete(t) {
			return err
		}
		t.End(task.Done, t.CompletedAt)
		task.Tasks.Put(tx, id, t)
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return nil // it was deleted
	}
	return err
}
