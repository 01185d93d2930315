package scale

import (
	"context"
	"maps"
	"sync"

	"parley.internal/shared/client"
)

// Calls counts the calls of an operation.
type Calls struct {
	// Requests counts the requests, those that were repeated included.
	Requests int
	// Repeated counts the requests that repeat one, and Failed the calls that failed in the end.
	Repeated, Failed int
	// First is the first failure.
	First string
}

// calls counts the calls of a run. It is safe for concurrent use.
type calls struct {
	mu sync.Mutex
	by map[string]Calls
}

func newCalls() *calls { return &calls{by: map[string]Calls{}} }

// observe counts a request.
func (c *calls) observe(_ context.Context, a client.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.by[a.Operation]
	if n.Requests++; a.Number > 1 {
		n.Repeated++
	}
	c.by[a.Operation] = n
}

// failed records a failed call, unless err is nil or the call was ended because the run is over.
func (c *calls) failed(ctx context.Context, op string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.by[op]
	if n.Failed++; n.First == "" {
		n.First = err.Error()
	}
	c.by[op] = n
}

func (c *calls) all() map[string]Calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}
