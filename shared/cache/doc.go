// Package cache keeps values that are costly to read for a bounded time, at most so many of them.
//
// It is an LRU cache (hashicorp/golang-lru) whose entries carry their own expiry, compared with the clock that the
// cache was given. The expirable cache of that library has one lifetime for all entries, reads the machine's clock and
// starts a goroutine that never ends, so it serves neither a key with an expiry of its own nor a test that sets the
// clock.
//
// A value that is read while something is forgotten may be the value that was to be forgotten. [Cache.Fill] hands such
// a value to its caller and keeps nothing. The packages that use the cache choose its values and their lifetimes.
package cache
