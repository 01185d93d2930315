package op

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

type pause struct {
	WaitMs int `json:"waitMs,omitempty" allow:"wait=0"`
}

// waitingWith returns a catalogue of two operations that wait, which count their runs.
func waitingWith(w *Waits, ran *int) *Catalogue {
	var mu sync.Mutex
	run := func(ctx context.Context, _ identity.Caller, in pause) (sampleOut, error) {
		mu.Lock()
		*ran++
		mu.Unlock()
		time.Sleep(time.Duration(in.WaitMs) * time.Millisecond)
		return sampleOut{}, nil
	}
	named := func(name string) Spec {
		return spec(func(s *Spec) { s.Name, s.Route, s.Effect = name, "POST /v1/"+name, Read })
	}
	c := NewCatalogue([]Op{New(named("one"), run), New(named("other"), run)})
	c.Waits = w
	return c
}

func key(user, id string) identity.Caller { return identity.Caller{User: user, KeyID: id} }

func (c *Catalogue) pause(ctx context.Context, name string, by identity.Caller, ms int) error {
	_, err := c.Call(ctx, c.Op(name), Call{Caller: by, Input: Parse(fmt.Appendf(nil, `{"waitMs":%d}`, ms))})
	return err
}

func TestWaitsAreLimitedByKeyUserAndInstanceWhateverTheTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		c := waitingWith(&Waits{Key: 2, User: 3, All: 5}, &ran)
		refused := func(what, limit string, err error) {
			t.Helper()
			f := fault.From(err)
			if !fault.Is(err, fault.Exhausted) || f.RetryAfter <= 0 || !strings.Contains(f.Message, "("+limit+")") {
				t.Errorf("%s: got %v, want Exhausted by %s", what, err, limit)
			}
		}
		var all sync.WaitGroup
		hold := func(name string, by identity.Caller) {
			all.Go(func() {
				if err := c.pause(t.Context(), name, by, 10_000); err != nil {
					t.Errorf("%+v: %v", by, err)
				}
			})
			synctest.Wait()
		}
		try := func(by identity.Caller) error { return c.pause(t.Context(), "one", by, 10_000) }
		hold("one", key("ann", "1"))
		hold("other", key("ann", "1"))
		before := ran
		refused("a third of one key", "--waits-key", try(key("ann", "1")))
		if err := c.pause(t.Context(), "one", key("ann", "1"), 0); err != nil {
			t.Errorf("a call that does not wait: %v", err)
		}
		hold("one", key("ann", "2"))
		refused("a fourth of one user", "--waits-user", try(key("ann", "3")))
		hold("one", key("ben", "1")) // the same id, of another user
		hold("one", key("ben", "1"))
		refused("a sixth of all", "--waits", try(key("cat", "1")))
		if ran != before+4 {
			t.Errorf("%d calls ran, want the four that were admitted", ran-before)
		}
		all.Wait()
		for range 3 { // those that ended and those that were refused count for nothing
			all.Go(func() {
				if err := c.pause(t.Context(), "one", key("ann", fmt.Sprint(time.Now().UnixNano())), 1); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		all.Wait()
		if w := c.Waits; w.all != 0 || len(w.byKey) != 0 || len(w.byUser) != 0 {
			t.Errorf("after all have ended: %+v", w)
		}
	})
}

func TestAttackAUserAtItsLimitTakesNoWaitFromAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		c := waitingWith(&Waits{Key: 64, User: 256, All: 300}, &ran)
		var all sync.WaitGroup
		var mu sync.Mutex
		greedy := 0
		for i := range 900 {
			all.Go(func() {
				if c.pause(t.Context(), "one", key("greedy", fmt.Sprint(i%9)), 50_000) == nil {
					mu.Lock()
					greedy++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		for range 44 {
			all.Go(func() {
				if err := c.pause(t.Context(), "other", key("modest", "1"), 1000); err != nil {
					t.Errorf("another user: %v", err)
				}
			})
		}
		all.Wait()
		if greedy != 256 {
			t.Errorf("%d waits of one user were admitted, want 256", greedy)
		}
	})
}

func TestAWaitByDefaultCounts(t *testing.T) {
	t.Parallel()
	type slow struct {
		WaitMs int `json:"waitMs,omitempty" allow:"wait=5000"`
	}
	c := NewCatalogue([]Op{New(sampleSpecOf("slow"), func(context.Context, identity.Caller, slow) (sampleOut, error) {
		return sampleOut{}, nil
	})})
	c.Waits = &Waits{All: 1, all: 1}
	for in, want := range map[string]bool{`{}`: true, `{"waitMs":1}`: true, `{"waitMs":"7"}`: true, `{"waitMs":0}`: false} {
		_, err := c.Call(t.Context(), c.Op("slow"), Call{Input: Parse([]byte(in))})
		if fault.Is(err, fault.Exhausted) != want {
			t.Errorf("%s: got %v, counts as a wait: %t", in, err, want)
		}
	}
}

func sampleSpecOf(name string) Spec {
	return spec(func(s *Spec) { s.Name, s.Route, s.Effect = name, "POST /v1/"+name, Read })
}

func TestAFullStorageStopsWhatAddsToItAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Spec)
		stops  bool
	}{
		"an operation that creates":      {func(s *Spec) { s.Creates = true }, true},
		"one that adds in another way":   {func(s *Spec) { s.Grows = true }, true},
		"one that changes what is there": {func(*Spec) {}, false},
		"one that reads":                 {func(s *Spec) { s.Effect = Read }, false},
		"one that deletes":               {func(s *Spec) { s.Effect = Destroy }, false},
		"one for people that creates":    {func(s *Spec) { s.Creates, s.For = true, Humans }, false},
		"one for operators that creates": {func(s *Spec) { s.Creates, s.For = true, Admins }, false},
	} {
		cat := NewCatalogue([]Op{New(spec(c.change), echo)})
		text := `{"id":"a"}`
		cat.Room = func(_ context.Context, user string, bytes int64) error {
			if user != "u" || bytes != int64(len(text)) {
				t.Errorf("%s: asked for %d bytes of %q", name, bytes, user)
			}
			return fault.New(fault.Quota, "full")
		}
		_, err := cat.Call(t.Context(), cat.Op("sample"),
			Call{Caller: identity.Caller{User: "u", Kind: identity.Human}, Input: Parse([]byte(text))})
		if fault.Is(err, fault.Quota) != c.stops {
			t.Errorf("%s: got %v, stops: %t", name, err, c.stops)
		}
	}
}
