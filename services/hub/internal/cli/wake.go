package cli

import (
	"context"
	"sync"
	"time"

	"parley.internal/shared/app"
)

const (
	// watchEvery is the time between two looks at the clock.
	watchEvery = 10 * time.Second
	// asleep is the time between two looks from which on the machine has slept, or the process was stopped.
	asleep = time.Minute
	// heartbeatWithin is the longest time for which an agent that is at work is not heard of: it sends a heartbeat, or renews
	// its claim, within it.
	heartbeatWithin = 10 * time.Minute
)

// wake finds out that the machine slept: then the time of day went on without the process, and with it the terms of
// claims, sessions and teammates, whose agents may have slept too. It is safe for concurrent use.
type wake struct {
	Now func() time.Time

	mu    sync.Mutex
	last  time.Time // the last look
	until time.Time // the time up to which agents are spared
}

// sparing looks at the clock and reports whether agents are to be spared: the machine slept, and less than
// heartbeatWithin has passed since.
func (w *wake) sparing() bool {
	now := w.Now().Round(0) // the time of day: a monotonic clock may stand still while the machine sleeps
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.last.IsZero() && now.Sub(w.last) >= asleep {
		w.until = now.Add(heartbeatWithin)
	}
	w.last = now
	return now.Before(w.until)
}

// spare returns a sweep, without its steps that take work from agents if they are to be spared.
func (w *wake) spare(s app.Sweep) app.Sweep {
	if w.sparing() {
		return s.Sparing()
	}
	return s
}

// watch looks at the clock until ctx ends.
func (w *wake) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for w.sparing(); ; w.sparing() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
