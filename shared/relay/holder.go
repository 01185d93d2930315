package relay

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Inbox returns the inbox in which a program's session reads its mail: its address if it is live, and otherwise the
// program. Its reads are part of a transaction. An empty session is the program's own inbox.
func (s *Service) Inbox(ctx context.Context, r store.Reader, program, session string) (string, error) {
	if session == "" || s.Live == nil {
		return program, nil
	}
	address := identity.Address(program, session)
	if live, err := s.Live.SessionLive(ctx, r, address); err != nil || !live {
		return program, err
	}
	return address, nil
}
