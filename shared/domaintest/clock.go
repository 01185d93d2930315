package domaintest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Start is the time at which a [Clock] begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Clock is a clock that stands until a test moves it. The zero Clock stands at
// [Start]. Its methods may be called from several goroutines.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	reads  chan struct{}
}

// Now is the time that the test has come to.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.reads <- struct{}{}:
	default:
	}
	return Start.Add(c.passed)
}

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// Set moves the clock to a time.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed = t.Sub(Start)
}

// Reads is a channel with one element for every later call of Now, so that a test
// knows how far a call that waits has come. It holds 100 and drops the rest; a
// second call of Reads ends the first channel's supply.
func (c *Clock) Reads() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = make(chan struct{}, 100)
	return c.reads
}

// IDs is a source of ids: "id-000001", "id-000002" and so on, which sort in the
// order of their making. It may be used from several goroutines.
type IDs struct{ made atomic.Int64 }

// NewID is the next id.
func (i *IDs) NewID() string { return fmt.Sprintf("id-%06d", i.made.Add(1)) }
