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

// Limiter admits calls that add to the storage of a user. Make one with [New]. It is safe for concurrent use.
type Limiter struct {
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

// New returns a limiter with limits, of which zero is none, that counts with a function.
func New(limits store.Usage, now func() time.Time,
	count func(ctx context.Context, user string) (store.Usage, error)) *Limiter {
	users, err := simplelru.NewLRU[string, *kept](remembered, nil)
	if err != nil {
		panic("quota: " + err.Error()) // only a size below 1 is refused
	}
	return &Limiter{limits: limits, count: count, now: now, users: users}
}

// Admit returns a Quota fault if the user keeps as much as it may, and otherwise counts a document of a number of bytes
// as added. If the store cannot count, the call is admitted: it meets the store's own fault, or does no harm for a minute.
func (l *Limiter) Admit(ctx context.Context, user string, bytes int64) error {
	if l.limits == (store.Usage{}) {
		return nil
	}
	if err := l.refresh(ctx, user); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of(user)
	if err := l.over(k.used); err != nil {
		return err
	}
	k.used.Documents++
	k.used.Bytes += bytes
	return nil
}

// of returns the entry of a user. The caller must hold the lock.
func (l *Limiter) of(user string) *kept {
	k, ok := l.users.Get(user)
	if !ok {
		k = &kept{}
		l.users.Add(user, k)
	}
	return k
}

// refresh counts the user's documents if the last count is too old. One call counts, and the others go by the last
// count; at the first count they wait. Its error is that of a context that ended.
func (l *Limiter) refresh(ctx context.Context, user string) error {
	l.mu.Lock()
	k := l.of(user)
	switch {
	case k.counting != nil && k.known, k.counting == nil && l.now().Before(k.until):
		l.mu.Unlock()
		return nil
	case k.counting != nil:
		counting := k.counting
		l.mu.Unlock()
		select {
		case <-counting:
			return nil
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
	k.counting = make(chan struct{})
	l.mu.Unlock()

	began := l.now()
	used, err := l.count(ctx, user)
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.now()
	if err == nil {
		k.used, k.known = used, true
	}
	k.until = end.Add(max(lasts, share*end.Sub(began)))
	close(k.counting)
	k.counting = nil
	return nil
}

// over returns a Quota fault if the usage has reached a limit.
func (l *Limiter) over(used store.Usage) error {
	what := ""
	switch {
	case l.limits.Documents > 0 && used.Documents >= l.limits.Documents:
		what = fmt.Sprintf("%d documents, and may keep %d", used.Documents, l.limits.Documents)
	case l.limits.Bytes > 0 && used.Bytes >= l.limits.Bytes:
		what = fmt.Sprintf("%d bytes, and may keep %d", used.Bytes, l.limits.Bytes)
	default:
		return nil
	}
	return fault.New(fault.Quota, "this user keeps %s: delete or complete something and try again in a minute, or ask the "+
		"operator for a larger quota; reading, deleting and reporting on what you hold still work", what).After(lasts)
}
