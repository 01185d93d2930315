package relay

import (
	"context"

	"parley.internal/shared/store"
)

// Forward moves the unread messages of a session's address to the inbox of its program. Each keeps the address that it
// was sent to. It is idempotent.
func (s *Service) Forward(ctx context.Context, user, address string) error {
	// A message that comes again is due within Redeliver.
	until := s.Now().Add(2 * Redeliver)
	for {
		more := false
		err := s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			page, err := messages.Query(ctx, tx, due(boxesOf([]string{address}, "", "", ""), until, forwardBatch))
			if err != nil {
				return err
			}
			for _, d := range page.Docs {
				m := d.Value
				m.forward()
				messages.Put(tx, d.ID, m)
			}
			more = page.Next != ""
			return nil
		})
		if err != nil || !more {
			return err
		}
	}
}

// forwardBatch is the number of messages that one transaction forwards.
const forwardBatch = 100
