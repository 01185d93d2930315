package chaos

import "context"

// limits bound the number of calls in flight that lock a whole collection, by the collection. In the emulator a
// transaction that queries, such as one that takes messages from an inbox, locks the whole collection for all users.
// Two such transactions that then write wait for each other until both are aborted, and many never end. Firestore
// itself locks only the documents that were found.
type limits map[string]chan struct{}

// The collections that reading calls lock.
const (
	relayMail = "relay"
	teamMail  = "teamMessages"
)

func newLimits() limits {
	// Two for mail, so that concurrent readers are tested.
	return limits{relayMail: make(chan struct{}, 2), teamMail: make(chan struct{}, 1)}
}

// acquire waits until the collection may be locked and returns a function that releases it. It fails with the cause of
// ctx if ctx ends first.
func (l limits) acquire(ctx context.Context, coll string) (release func(), err error) {
	select {
	case l[coll] <- struct{}{}:
		return func() { <-l[coll] }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
