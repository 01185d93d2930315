package app

import (
	"context"
	"sync"
	"time"

	"parley.internal/shared/cache"
	"parley.internal/shared/identity"
	"parley.internal/shared/pauses"
)

// halted caches the pauses of users. A change in this process takes effect at once, one in another within a short time.
type halted struct {
	source *pauses.Service
	now    func() time.Time

	made  sync.Once
	cache *cache.Cache[[]identity.Pause] // by user; see known
}

// pausesFresh is the time for which the pauses of a user are cached.
const pausesFresh = 1500 * time.Millisecond

// known returns the cache, which is made on first use.
func (h *halted) known() *cache.Cache[[]identity.Pause] {
	h.made.Do(func() { h.cache = cache.New[[]identity.Pause](maxUsers, h.now) })
	return h.cache
}

// InForce returns the pauses of a user.
func (h *halted) InForce(ctx context.Context, user string) ([]identity.Pause, error) {
	if pauses, ok := h.known().Get(user); ok {
		return pauses, nil
	}
	return h.known().Fill(user, func() (pauses []identity.Pause, until time.Time, err error) {
		until = h.now().Add(pausesFresh)
		pauses, err = h.source.InForce(ctx, user)
		return pauses, until, err
	})
}

// forget drops the pauses of a user that changed.
func (h *halted) forget(user string) { h.known().Forget(user) }
