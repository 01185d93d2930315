package firestore

import (
	"context"
	"hash/maphash"
	"time"
)

// retryQueues serialize the repeated transactions of a user in this process; each queue serves several users. Without
// them, transactions that read the same document would wait for each other's locks and be aborted together, again and
// again.
type retryQueues struct {
	seed   maphash.Seed
	queues [64]chan struct{}
}

// maxQueueTime is the longest wait for a turn. After it a transaction goes on beside the others, so that one that hangs
// does not block them all.
const maxQueueTime = 30 * time.Second

func newRetryQueues() *retryQueues {
	q := &retryQueues{seed: maphash.MakeSeed()}
	for i := range q.queues {
		q.queues[i] = make(chan struct{}, 1)
	}
	return q
}

// wait waits for the turn of a user's transaction, at most for maxQueueTime or until ctx ends. The caller must call
// leave when the transaction is over.
func (q *retryQueues) wait(ctx context.Context, user string) (leave func()) {
	queue := q.queues[maphash.String(q.seed, user)%uint64(len(q.queues))]
	timer := time.NewTimer(maxQueueTime)
	defer timer.Stop()
	select {
	case queue <- struct{}{}:
		return func() { <-queue }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}
