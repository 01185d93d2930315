package signal

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// alertTTL is for how many seconds an alert is news.
const alertTTL = 3600

// Alert tells the user's human something that needs no answer.
func (s *Service) Alert(ctx context.Context, c identity.Caller, in AlertInput) (AlertOutput, error) {
	now, id := s.Now(), s.NewID()
	t := task.Task{Type: task.Alert, Title: title(in.Message), Instructions: in.Message, Status: task.Created, Priority: cmp.Or(in.Priority, task.Normal),
		Source: c.Program, Verified: c.Bound(), Target: human, Context: in.Context, SessionID: in.SessionID, AlertType: cmp.Or(in.AlertType, "info"),
		CreatedAt: now, ExpiresAt: now.Add(time.Duration(cmp.Or(in.TTL, alertTTL)) * time.Second)}
	t.Route()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (AlertOutput, error) {
		task.Tasks.Create(tx, id, t)
		return AlertOutput{AlertID: id, AlertType: t.AlertType, CreatedAt: now, ExpiresAt: t.ExpiresAt}, nil
	})
}
