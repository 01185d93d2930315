package domaintest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Start is the time at which a [Clock] begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Clock is a clock that only moves when a test moves it, or once a test has let it tick. The zero Clock shows [Start]. Its
// methods may be called concurrently.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	since  time.Time // from which it runs, zero while it stands
	reads  chan struct{}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.reads <- struct{}{}:
	default:
	}
	if !c.since.IsZero() {
		return Start.Add(c.passed + time.Since(c.since))
	}
	return Start.Add(c.passed)
}

// Tick makes the clock go on by itself too, for waits that end at a time.
func (c *Clock) Tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
}

// Pass moves the clock by d.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// Set moves the clock to t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed = t.Sub(Start)
}

// Reads returns a channel that receives an element for every later call of Now, by which a test follows the progress of
// a call that waits. The channel buffers 100 elements and further ones are dropped. After a second call of Reads only
// the new channel receives elements.
func (c *Clock) Reads() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = make(chan struct{}, 100)
	return c.reads
}

// IDs generates ids: "id-000001", "id-000002" and so on, which sort in the order of their creation. It may be used
// concurrently.
type IDs struct{ made atomic.Int64 }

// NewID returns the next id.
func (i *IDs) NewID() string { return fmt.Sprintf("id-%06d", i.made.Add(1)) }
