package app

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"parley.internal/shared/cache"
)

// maxUsers is the number of users whose values are cached at once.
const maxUsers = 10_000

// The times for which values are cached. A change in this process takes effect at once.
const (
	freshPrograms = time.Minute
	freshPauses   = 1500 * time.Millisecond
)

// perUser caches a value of each user for a time, so that most calls read it without a store.
type perUser[V any] struct {
	load  func(ctx context.Context, user string) (V, error)
	fresh time.Duration
	now   func() time.Time

	made  sync.Once
	loads singleflight.Group // one for a user at a time, for all who wait for it
	cache *cache.Cache[V]
}

// values returns the cache, which is made on first use.
func (p *perUser[V]) values() *cache.Cache[V] {
	p.made.Do(func() { p.cache = cache.New[V](maxUsers, p.now) })
	return p.cache
}

// get returns the value of a user.
func (p *perUser[V]) get(ctx context.Context, user string) (V, error) {
	if v, ok := p.values().Get(user); ok {
		return v, nil
	}
	found, err, _ := p.loads.Do(user, func() (any, error) {
		return p.values().Fill(user, func() (v V, until time.Time, err error) {
			until = p.now().Add(p.fresh)
			v, err = p.load(context.WithoutCancel(ctx), user) // others wait for it too
			return v, until, err
		})
	})
	v, _ := found.(V)
	return v, err
}

// forget drops the value of a user, which has changed.
func (p *perUser[V]) forget(user string) {
	p.values().Forget(user)
	p.loads.Forget(user)
}

// directory lists the programs of users, so that sending a message costs no read.
type directory struct{ perUser[[]string] }

// Programs implements relay.Directory.
func (d *directory) Programs(ctx context.Context, user string) ([]string, error) {
	return d.get(ctx, user)
}
