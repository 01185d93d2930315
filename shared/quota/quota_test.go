package quota_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/quota"
	"parley.internal/shared/store"
)

// usage is the usage of a store, which the test sets.
type usage struct {
	mu    sync.Mutex
	has   store.Usage
	err   error
	takes time.Duration
	clock *domaintest.Clock
	asked int
}

func (s *usage) count(context.Context, string) (store.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.takes > 0 {
		s.clock.Pass(s.takes)
	}
	return s.has, s.err
}

func TestAUserIsRefusedOnceItKeepsAsMuchAsItMay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has    store.Usage
		limits store.Usage
		size   int64
		admits int // of the next ten calls
		words  string
	}{
		"no limit":              {store.Usage{Documents: 1e9, Bytes: 1e15}, store.Usage{}, 1 << 20, 10, ""},
		"room for three":        {store.Usage{Documents: 7}, store.Usage{Documents: 10}, 1, 3, "10 documents"},
		"no room":               {store.Usage{Documents: 10}, store.Usage{Documents: 10}, 1, 0, "10 documents"},
		"far over":              {store.Usage{Documents: 99}, store.Usage{Documents: 10}, 1, 0, "99 documents"},
		"bytes":                 {store.Usage{Bytes: 700}, store.Usage{Bytes: 1000}, 100, 3, "1000 bytes"},
		"bytes, over documents": {store.Usage{Documents: 50}, store.Usage{Bytes: 1000}, 500, 2, "1000 bytes"},
	} {
		g := quota.New(c.limits, new(domaintest.Clock).Now, (&usage{has: c.has}).count)
		admitted := 0
		for range 10 {
			err := g.Admit(t.Context(), "u", c.size)
			if err == nil {
				admitted++
				continue
			}
			if f := fault.From(err); f.Kind != fault.Quota || f.RetryAfter <= 0 || !strings.Contains(f.Message, c.words) {
				t.Errorf("%s: got %v, want Quota with %q", name, err, c.words)
			}
		}
		if admitted != c.admits {
			t.Errorf("%s: %d calls are admitted, want %d", name, admitted, c.admits)
		}
	}
}

func TestACountIsUsedForAMinuteAndForAHundredTimesItsOwnTime(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	s := &usage{clock: clock}
	g := quota.New(store.Usage{Documents: 1000}, clock.Now, s.count)
	admit := func(wantAsked int) {
		t.Helper()
		if err := g.Admit(t.Context(), "u", 1); err != nil || s.asked != wantAsked {
			t.Errorf("%v after %d counts, want %d", err, s.asked, wantAsked)
		}
	}
	admit(1)
	clock.Pass(59 * time.Second)
	admit(1)
	clock.Pass(time.Second)
	s.takes = 3 * time.Second
	admit(2)
	clock.Pass(299 * time.Second)
	admit(2)
	clock.Pass(time.Second)
	admit(3)
}

func TestRoomThatWasMadeIsSeenWithinAMinute(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	s := &usage{has: store.Usage{Documents: 5}}
	g := quota.New(store.Usage{Documents: 5}, clock.Now, s.count)
	if err := g.Admit(t.Context(), "u", 1); !fault.Is(err, fault.Quota) {
		t.Fatal(err)
	}
	s.has.Documents = 4
	clock.Pass(time.Minute)
	if err := g.Admit(t.Context(), "u", 1); err != nil {
		t.Error(err)
	}
	if err := g.Admit(t.Context(), "u", 1); !fault.Is(err, fault.Quota) {
		t.Errorf("got %v, want Quota after the one that fitted", err)
	}
}

func TestAStoreThatCannotCountStopsNobody(t *testing.T) {
	t.Parallel()
	s := &usage{err: errors.New("down")}
	g := quota.New(store.Usage{Documents: 1000}, new(domaintest.Clock).Now, s.count)
	for range 5 {
		if err := g.Admit(t.Context(), "u", 1); err != nil {
			t.Error(err)
		}
	}
	if s.asked != 1 {
		t.Errorf("the store was asked %d times in a moment", s.asked)
	}
}

func TestConcurrentCallsCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		g := quota.New(store.Usage{Documents: 10}, time.Now, func(context.Context, string) (store.Usage, error) {
			mu.Lock()
			asked++
			mu.Unlock()
			time.Sleep(time.Second)
			return store.Usage{Documents: 5}, nil
		})
		var all sync.WaitGroup
		refused := 0
		for range 20 {
			all.Go(func() {
				if g.Admit(t.Context(), "u", 1) != nil {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if asked != 1 || refused != 15 {
			t.Errorf("%d counts, %d refused; want 1 and 15", asked, refused)
		}
	})
}
