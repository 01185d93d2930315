package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const (
	// lasts is the least time for which a count is used.
	lasts = time.Minute
	// share is the part of the time that may be spent on counting, as its inverse.
	share = 100
	// remembered is the number of users whose counts are kept.
	remembered = 10_000
)

// Gate admits calls that add to the storage of a user. Make one with [New]. It is safe for concurrent use.
type Gate struct {
	limits store.Usage
	count  func(ctx context.Context, user string) (store.Usage, error)
	now    func() time.Time

	mu    sync.Mutex
	users *simplelru.LRU[string, *kept]
}

// kept is the known usage of a user.
type kept struct {
	used     store.Usage
	until    time.Time
	counting chan struct{} // is closed when the count in progress ends; nil if there is none
	known    bool
}

// New returns a gate with limits, of which zero is none, that counts with a function.
func New(limits store.Usage, now func() time.Time,
	count func(ctx context.Context, user string) (store.Usage, error)) *Gate {
	users, err := simplelru.NewLRU[string, *kept](remembered, nil)
	if err != nil {
		panic("quota: " + err.Error()) // only a size below 1 is refused
	}
	return &Gate{limits: limits, count: count, now: now, users: users}
}

// Admit returns a Quota fault if the user keeps as much as it may, and otherwise counts a document of a number of bytes
// as added. If the store cannot count, the call is admitted: it meets the store's own fault, or does no harm for a minute.
func (g *Gate) Admit(ctx context.Context, user string, bytes int64) error {
	if g.limits == (store.Usage{}) {
		return nil
	}
	if err := g.refresh(ctx, user); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.of(user)
	if err := g.over(k.used); err != nil {
		return err
	}
	k.used.Documents++
	k.used.Bytes += bytes
	return nil
}

// of returns the entry of a user. The caller must hold the lock.
func (g *Gate) of(user string) *kept {
	k, ok := g.users.Get(user)
	if !ok {
		k = &kept{}
		g.users.Add(user, k)
	}
	return k
}

// refresh counts the user's documents if the last count is too old. One call counts, and the others go by the last
// count; at the first count they wait. Its error is that of a context that ended.
func (g *Gate) refresh(ctx context.Context, user string) error {
	g.mu.Lock()
	k := g.of(user)
	switch {
	case k.counting != nil && k.known, k.counting == nil && g.now().Before(k.until):
		g.mu.Unlock()
		return nil
	case k.counting != nil:
		counting := k.counting
		g.mu.Unlock()
		select {
		case <-counting:
			return nil
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
	k.counting = make(chan struct{})
	g.mu.Unlock()

	began := g.now()
	used, err := g.count(ctx, user)
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.now()
	if err == nil {
		k.used, k.known = used, true
	}
	k.until = end.Add(max(lasts, share*end.Sub(began)))
	close(k.counting)
	k.counting = nil
	return nil
}

// over returns a Quota fault if the usage has reached a limit.
func (g *Gate) over(used store.Usage) error {
	what := ""
	switch {
	case g.limits.Documents > 0 && used.Documents >= g.limits.Documents:
		what = fmt.Sprintf("%d documents, and may keep %d", used.Documents, g.limits.Documents)
	case g.limits.Bytes > 0 && used.Bytes >= g.limits.Bytes:
		what = fmt.Sprintf("%d bytes, and may keep %d", used.Bytes, g.limits.Bytes)
	default:
		return nil
	}
	return fault.New(fault.Quota, "this user keeps %s: delete or complete something and try again in a minute, or ask the "+
		"operator for a larger quota; reading, deleting and reporting on what you hold still work", what).After(lasts)
}
