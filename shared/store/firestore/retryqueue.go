package firestore

import (
	"context"
	"hash/maphash"
	"time"
)

// lanes let the transactions of this process that were aborted once go on one after the
// other, a lane for some users. Left to themselves, those that read the same document
// would wait for each other's locks and be aborted together, again and again.
type lanes struct {
	seed maphash.Seed
	each [64]chan struct{}
}

// turnWait is how long one waits for its turn at most: then it goes on beside the others, so
// that a call of theirs which hangs does not hold up everybody.
const turnWait = 30 * time.Second

func newLanes() *lanes {
	l := &lanes{seed: maphash.MakeSeed()}
	for i := range l.each {
		l.each[i] = make(chan struct{}, 1)
	}
	return l
}

// enter waits for the lane of a user, and returns what leaves it.
func (l *lanes) enter(ctx context.Context, user string) (leave func()) {
	lane := l.each[maphash.String(l.seed, user)%uint64(len(l.each))]
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case lane <- struct{}{}:
		return func() { <-lane }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}
