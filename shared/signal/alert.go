package signal

import (
	"context"
	"time"

	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Alert creates an alert for the user's human. It expires after TTL seconds.
func (s *Service) Alert(ctx context.Context, c identity.Caller, in AlertInput) (AlertOutput, error) {
	now, id := s.Now(), s.NewID()
	t := task.Task{Type: task.Alert, Title: title(in.Message), Instructions: in.Message, Status: task.Created,
		Priority: in.Priority, Source: c.Program, Verified: c.Bound(), Maker: c.Owner(), Target: human, Context: in.Context,
		SessionID: in.SessionID, AlertType: in.AlertType, CreatedAt: now,
		ExpiresAt: now.Add(time.Duration(in.TTL) * time.Second)}
	t.Route()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (AlertOutput, error) {
		task.Tasks.Create(tx, id, t)
		return AlertOutput{AlertID: id, AlertType: t.AlertType, CreatedAt: now, ExpiresAt: t.ExpiresAt}, nil
	})
}
