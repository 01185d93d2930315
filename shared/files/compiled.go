package files

import (
	"sync"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
)

// maxCompiled is the number of patterns that are kept compiled, which is that of several full boards.
const maxCompiled = 4000

// compiled keeps compiled patterns, because a board is read far more often than it changes. The zero value is empty. Its
// methods may be called concurrently.
type compiled struct {
	mu   sync.RWMutex
	kept map[compiledKey]*glob.Pattern
}

type compiledKey struct {
	text        string
	withoutCase bool
}

// pattern returns the pattern of a text, which was valid when it was stored.
func (c *compiled) pattern(text string, withoutCase bool) (*glob.Pattern, error) {
	key := compiledKey{text, withoutCase}
	c.mu.RLock()
	p := c.kept[key]
	c.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := glob.Parse(text, withoutCase)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the pattern %q", text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxCompiled {
		c.kept = map[compiledKey]*glob.Pattern{}
	}
	c.kept[key] = p
	return p, nil
}
