package line

import (
	"context"
	"time"
)

// AwaitPlaces waits until n calls are in lines. It is for tests that need an order of arrival.
func (l *Lines[W]) AwaitPlaces(ctx context.Context, n int) {
	l.await(ctx, func() bool {
		in := 0
		for _, o := range l.owners {
			for _, ln := range o.lines {
				in += len(ln.waiting)
			}
		}
		return in >= n
	})
}

// AwaitIdle waits until the first call of every line has found nothing. It is for tests.
func (l *Lines[W]) AwaitIdle(ctx context.Context) {
	l.await(ctx, func() bool {
		for _, o := range l.owners {
			for _, ln := range o.lines {
				if !ln.isIdle() {
					return false
				}
			}
		}
		return true
	})
}

func (l *Lines[W]) await(ctx context.Context, done func() bool) {
	for ctx.Err() == nil {
		l.mu.Lock()
		ok := done()
		l.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
