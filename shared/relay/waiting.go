package relay

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/task"
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

// Waiting returns the number of unread messages of a program and its sessions, at most limit. A message that was
// delivered and only lacks its acknowledgement does not count.
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

// stray reports whether nobody reads the mail of a name: no program has it, and it does not stand for the people.
func stray(programs []string, name string) bool {
	_, known := identity.Among(programs, name)
	return !known && !identity.Same(name, task.User)
}

// Strays returns the number of unread messages to each name that no program has, at most limit together.
func (s *Service) Strays(ctx context.Context, user string, limit int) (map[string]int, error) {
	programs, err := s.Directory.Programs(ctx, user)
	if err != nil {
		return nil, err
	}
	now, found := s.Now(), map[string]int{}
	page, err := messages.Query(ctx, s.DB.User(user), due(boxesOf([]string{strayBox}, "", "", ""), now, limit))
	for _, d := range page.Docs {
		m := d.Value
		program, _ := identity.SplitAddress(m.Target)
		if m.State == Pending && !m.Lapsed(now) && stray(programs, program) {
			found[program]++
		}
	}
	return found, err
}
