package firestore

import (
	"context"
	"hash/maphash"
	"time"
)

// retryQueues hold back the transactions of this process that were aborted, so that those of one user are repeated one
// after the other; each queue serves several users. Without them, transactions that read the same document would wait
// for each other's locks and be aborted together, again and again.
type retryQueues struct {
	seed   maphash.Seed
	queues [64]chan struct{}
}

// maxQueueTime is the longest wait for a turn. A transaction that waited so long goes on beside the others, so that one
// that hangs does not hold up all.
const maxQueueTime = 30 * time.Second

func newRetryQueues() *retryQueues {
	q := &retryQueues{seed: maphash.MakeSeed()}
	for i := range q.queues {
		q.queues[i] = make(chan struct{}, 1)
	}
	return q
}

// wait returns when it is the turn of a transaction of the user, after maxQueueTime, or at the end of ctx. The caller
// must call leave when the transaction is over.
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
