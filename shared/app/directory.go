package app

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"parley.internal/shared/cache"
	"parley.internal/shared/relay"
)

// directory caches the programs of users, so that sending a message costs no read.
type directory struct {
	source relay.Directory
	now    func() time.Time

	made  sync.Once
	loads singleflight.Group     // one for a user at a time, for all who wait for it
	cache *cache.Cache[[]string] // programs by user; see known
}

// The programs of a user are cached for the time fresh, those of at most maxUsers users at once.
const (
	fresh    = time.Minute
	maxUsers = 10_000
)

// known returns the cache, which is made on first use.
func (d *directory) known() *cache.Cache[[]string] {
	d.made.Do(func() { d.cache = cache.New[[]string](maxUsers, d.now) })
	return d.cache
}

// Programs implements relay.Directory.
func (d *directory) Programs(ctx context.Context, user string) ([]string, error) {
	if programs, ok := d.known().Get(user); ok {
		return programs, nil
	}
	v, err, _ := d.loads.Do(user, func() (any, error) {
		return d.known().Fill(user, func() (programs []string, until time.Time, err error) {
			until = d.now().Add(fresh)
			programs, err = d.source.Programs(context.WithoutCancel(ctx), user) // others wait for it too
			return programs, until, err
		})
	})
	programs, _ := v.([]string)
	return programs, err
}

// forget drops the programs of a user whose keys changed.
func (d *directory) forget(user string) {
	d.known().Forget(user)
	d.loads.Forget(user)
}
