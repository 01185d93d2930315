package store

import (
	"context"
	"time"
)

// waiting is the context key of the waiter whose check runs.
type waiting struct{}

// CheckAgain makes the wait whose check got ctx call it again after d, even if nothing changes: a document may
// match by the passing of time alone. Of several times the earliest counts. Outside of a wait it does nothing.
func CheckAgain(ctx context.Context, d time.Duration) {
	wt, ok := ctx.Value(waiting{}).(*waiter)
	if !ok {
		return
	}
	now := time.Now()
	at := now.Add(d)
	if wt.again != nil && now.Before(wt.againAt) && !at.Before(wt.againAt) {
		return
	}
	wt.forget()
	wt.againAt, wt.again = at, time.AfterFunc(d, wt.awake)
}

// forget drops the time of the next check.
func (wt *waiter) forget() {
	if wt.again != nil {
		wt.again.Stop()
		wt.again = nil
	}
}
