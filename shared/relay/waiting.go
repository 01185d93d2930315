package relay

import (
	"context"
	"time"
)

// Wait calls check at once and after each change to the user's mail, until it returns true or an error or d has passed.
// A wait that is over returns nil. With too many waiters it fails with Unavailable.
func (s *Service) Wait(
	ctx context.Context,
	user string,
	d time.Duration,
	check func(context.Context) (bool, error),
) error {
	return messages.Wait(ctx, s.DB.User(user), nil, d, check)
}

// Waiting returns the number of unread messages of a program and its sessions, at most limit. A message that was delivered and only
// lacks its acknowledgement does not count.
func (s *Service) Waiting(ctx context.Context, user, program string, limit int) (int, error) {
	now, n := s.Now(), 0
	page, err := messages.Query(ctx, s.DB.User(user), due(boxesOf([]string{program, program + everySession}, "", "", ""), now, limit))
	for _, d := range page.Docs {
		if d.Value.State == Pending && !d.Value.Lapsed(now) {
			n++
		}
	}
	return n, err
}
