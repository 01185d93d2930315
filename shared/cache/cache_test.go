package cache_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/cache"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// keep puts a value into the cache until a time.
func keep(t *testing.T, c *cache.Cache[string], key, value string, until time.Time) {
	t.Helper()
	got, err := c.Fill(key, func() (string, time.Time, error) { return value, until, nil })
	if got != value || err != nil {
		t.Errorf("filling %s: got %q, %v; want %q", key, got, err, value)
	}
}

// holds checks the value of a key; an empty one is none.
func holds(t *testing.T, c *cache.Cache[string], key, want string) {
	t.Helper()
	if got, ok := c.Get(key); got != want || ok != (want != "") {
		t.Errorf("%s: got %q, %v; want %q", key, got, ok, want)
	}
}

func TestAValueLastsUntilItsExpiry(t *testing.T) {
	t.Parallel()
	now := noon
	c := cache.New[string](10, func() time.Time { return now })
	holds(t, c, "a", "")
	keep(t, c, "a", "short", noon.Add(time.Second))
	keep(t, c, "b", "long", noon.Add(time.Minute))
	now = noon.Add(time.Second - 1)
	holds(t, c, "a", "short")
	now = noon.Add(time.Second)
	holds(t, c, "a", "")
	holds(t, c, "b", "long")
	if c.Len() != 1 {
		t.Errorf("it holds %d values, want 1", c.Len())
	}
}

func TestTheLeastRecentlyUsedMakesRoom(t *testing.T) {
	t.Parallel()
	c := cache.New[string](3, func() time.Time { return noon })
	for _, key := range []string{"a", "b", "c"} {
		keep(t, c, key, key, noon.Add(time.Minute))
	}
	holds(t, c, "a", "a")
	keep(t, c, "d", "d", noon.Add(time.Minute))
	for key, want := range map[string]string{"a": "a", "b": "", "c": "c", "d": "d"} {
		holds(t, c, key, want)
	}
}

func TestAFaultIsNotKept(t *testing.T) {
	t.Parallel()
	c := cache.New[string](10, func() time.Time { return noon })
	down := errors.New("down")
	if _, err := c.Fill("a", func() (string, time.Time, error) { return "a", noon.Add(time.Minute), down }); err != down {
		t.Errorf("got %v, want the fault", err)
	}
	holds(t, c, "a", "")
}

func TestAForgottenValueIsGoneAndNoLoadBringsItBack(t *testing.T) {
	t.Parallel()
	c := cache.New[string](10, func() time.Time { return noon })
	keep(t, c, "a", "old", noon.Add(time.Minute))
	keep(t, c, "b", "other", noon.Add(time.Minute))
	c.Forget("a")
	holds(t, c, "a", "")
	holds(t, c, "b", "other")
	got, err := c.Fill("a", func() (string, time.Time, error) {
		c.Forget("a") // after it was read
		return "old", noon.Add(time.Minute), nil
	})
	if got != "old" || err != nil {
		t.Errorf("got %q, %v; want what was read", got, err)
	}
	holds(t, c, "a", "")
	keep(t, c, "a", "new", noon.Add(time.Minute))
	holds(t, c, "a", "new")
}

func TestManyAtOnceGetTheirOwnValues(t *testing.T) {
	t.Parallel()
	c := cache.New[string](8, func() time.Time { return noon })
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 500 {
				key := fmt.Sprint((w + i) % 12)
				if i%20 == 3 {
					c.Forget(key)
				}
				if got, ok := c.Get(key); ok && got != key {
					t.Errorf("%s: got %q", key, got)
				}
				keep(t, c, key, key, noon.Add(time.Minute))
			}
		})
	}
	all.Wait()
	if c.Len() > 8 {
		t.Errorf("it holds %d values, want at most 8", c.Len())
	}
}
