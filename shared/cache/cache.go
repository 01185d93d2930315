package cache

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache holds values by key until they expire, are forgotten, or are the least recently used of too many. Its methods
// may be called at the same time. Make one with [New].
type Cache[V any] struct {
	now func() time.Time

	mu      sync.Mutex
	entries *simplelru.LRU[string, entry[V]]
	forgets int // how often Forget was called
}

type entry[V any] struct {
	value V
	until time.Time
}

// New returns a cache of at most size values; it panics if size is not positive.
func New[V any](size int, now func() time.Time) *Cache[V] {
	entries, err := simplelru.NewLRU[string, entry[V]](size, nil)
	if err != nil {
		panic("cache: " + err.Error())
	}
	return &Cache[V]{now: now, entries: entries}
}

// Get returns the value of a key; ok is false where there is none that still lasts.
func (c *Cache[V]) Get(key string) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	if ok && !c.now().Before(e.until) {
		c.entries.Remove(key)
		return value, false
	}
	return e.value, ok
}

// Fill returns the value that load reads, and keeps it until the time that load returns with it. A fault of load is
// returned and nothing is kept; nor is a value during whose load any key was forgotten.
func (c *Cache[V]) Fill(key string, load func() (value V, until time.Time, err error)) (V, error) {
	c.mu.Lock()
	forgets := c.forgets
	c.mu.Unlock()
	value, until, err := load()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if forgets == c.forgets {
		c.entries.Add(key, entry[V]{value, until})
	}
	return value, nil
}

// Forget drops the value of a key, and that of every load under way.
func (c *Cache[V]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	c.entries.Remove(key)
}

// Len returns how many values are held, those that expired unseen included.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}
