package relay

import (
	"context"
	"time"
)

// Wait follows a user's mail as a collection's Wait does.
func (s *Service) Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error {
	return messages.Wait(ctx, s.DB.User(user), nil, d, check)
}

// Waiting counts what a program has not read yet, up to limit. What was read and
// waits for an acknowledgement alone is not counted.
func (s *Service) Waiting(ctx context.Context, user, program string, limit int) (int, error) {
	now, n := s.Now(), 0
	page, err := messages.Query(ctx, s.DB.User(user), due(box(program, "", "", ""), now, limit))
	for _, d := range page.Docs {
		if d.Value.State == Pending && !d.Value.Lapsed(now) {
			n++
		}
	}
	return n, err
}
