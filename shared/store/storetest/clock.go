package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock that a test moves, and a source of ids that count. The zero
// Clock stands at [Start].
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	made   atomic.Int64
}

// Start is where a clock begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Now is the time that the test has come to.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Start.Add(c.passed)
}

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// NewID is another id each time; ids sort in the order of their making.
func (c *Clock) NewID() string { return fmt.Sprintf("id-%06d", c.made.Add(1)) }
