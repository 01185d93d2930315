package chaos

import "context"

// turns let few at once do what the emulator lets few do at once. A transaction that
// queries, as one does that takes mail out of an inbox, locks the whole collection in
// it, of all users: two that then write wait for each other until both are given
// up, and many never come to an end. Firestore locks what was found.
type turns map[string]chan struct{}

// The collections that reading calls lock.
const (
	relayMail = "relay"
	teamMail  = "teamMessages"
)

func newTurns() turns {
	// Two, so that readers of mail do meet.
	return turns{relayMail: make(chan struct{}, 2), teamMail: make(chan struct{}, 1)}
}

// take waits for a turn, which lasts until done is called. Where ctx ends first there
// is none.
func (t turns) take(ctx context.Context, coll string) (done func(), err error) {
	select {
	case t[coll] <- struct{}{}:
		return func() { <-t[coll] }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
