package op

import (
	"encoding/json"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Waits bounds the calls that wait at once on an instance, whatever their operation. Zero is no limit. The limits must
// not change once calls are made.
type Waits struct {
	// Key is the number for a key, User that for a user over all its keys, and All that for the instance.
	Key, User, All int

	mu     sync.Mutex
	all    int
	byUser map[string]int
	byKey  map[waitKey]int
}

type waitKey struct{ user, key string }

// enter counts a call that waits, until leave is called. It fails with Exhausted, which names the limit, if that is
// reached. A call that is refused counts for nothing, so a user at its limit takes nothing from the others.
func (w *Waits) enter(c identity.Caller) (leave func(), err error) {
	key := waitKey{c.User, c.KeyID}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byUser == nil {
		w.byUser, w.byKey = map[string]int{}, map[waitKey]int{}
	}
	for _, l := range []struct {
		now, most  int
		whose, may string
	}{
		{w.byKey[key], w.Key, "this key has", "--waits-key"},
		{w.byUser[c.User], w.User, "this user has, over all keys,", "--waits-user"},
		{w.all, w.All, "this server has", "--waits"},
	} {
		if l.most > 0 && l.now >= l.most {
			return nil, fault.New(fault.Exhausted, "%s %d calls waiting, which is the limit (%s); end one first, or call "+
				"without waiting", l.whose, l.now, l.may).After(time.Second)
		}
	}
	w.all++
	w.byUser[c.User]++
	w.byKey[key]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		if w.byUser[c.User]--; w.byUser[c.User] == 0 {
			delete(w.byUser, c.User)
		}
		if w.byKey[key]--; w.byKey[key] == 0 {
			delete(w.byKey, key)
		}
	}, nil
}

// Now returns the number of calls that wait now.
func (w *Waits) Now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

// waits reports whether a call with these checked fields waits.
func (o *Op) waits(fields map[string]any) bool {
	switch ms := fields[o.Wait].(type) {
	case json.Number:
		n, err := ms.Float64()
		return err == nil && n > 0
	case float64:
		return ms > 0
	}
	return false
}
