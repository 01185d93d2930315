package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock that a test moves, and a source of sequential ids. The zero Clock shows [Start]. It may be used
// concurrently.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	made   atomic.Int64
}

// Start is the initial time of a Clock.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Start.Add(c.passed)
}

// Pass moves the clock forward by d.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// NewID returns a new id. Ids sort in the order of their creation.
func (c *Clock) NewID() string { return fmt.Sprintf("id-%06d", c.made.Add(1)) }
