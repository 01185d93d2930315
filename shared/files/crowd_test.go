package files

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
)

// holders is a record of the granted patterns, kept beside the store: a claimer enters a pattern after it was granted,
// and takes it out before it is released.
type holders struct {
	mu   sync.Mutex
	held map[string]*glob.Pattern
	t    *testing.T
}

func (h *holders) enter(who string, patterns ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range patterns {
		p, err := glob.Parse(text, false)
		if err != nil {
			h.t.Error(err)
			continue
		}
		for other, q := range h.held {
			steps := glob.Steps(1 << 20)
			if meet, err := glob.Overlap(p, q, &steps); meet || err != nil {
				h.t.Errorf("%s holds %s while %s is held, %v", who, text, other, err)
			}
		}
	}
	for _, text := range patterns {
		p, _ := glob.Parse(text, false)
		h.held[who+" "+text] = p
	}
}

func (h *holders) leave(who string, patterns ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range patterns {
		delete(h.held, who+" "+text)
	}
}

var contested = []string{"src/", "src/a/", "src/*.go", "src/a/x.go", "**/x.go", "docs/", "docs/*.md", "**/*.md", "{src,docs}/y",
	"web/", "web/**/z", "?rc/y"}

func TestAttackOfManyConcurrentClaimersNoTwoHoldOverlappingPaths(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.Service.Now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
		h := &holders{held: map[string]*glob.Pattern{}, t: t}
		rounds := domaintest.Crowd(t, 12, 2)
		var granted sync.Map
		failed := domaintest.Together(domaintest.Crowd(t, 16, 8), func(i int) error {
			c, r := domaintest.Bound("u", fmt.Sprint("agent-", i)), rand.New(rand.NewPCG(15, uint64(i)))
			for n := range rounds {
				two := []string{contested[r.IntN(len(contested))], contested[r.IntN(len(contested))]}
				in := ReserveInput{Paths: two, WaitMs: (i + n) % 2 * 20}
				out, err := d.Reserve(t.Context(), c, in)
				if fault.Is(err, fault.Precondition) {
					continue
				}
				if err != nil {
					return err
				}
				h.enter(c.Program, two...)
				for _, v := range out.Reservations {
					if who, taken := granted.LoadOrStore(v.Token, c.Program); taken && who != c.Program {
						t.Errorf("the token %d is given to %s and %s", v.Token, who, c.Program)
					}
				}
				h.leave(c.Program, two...)
				if err := domaintest.Retry(t.Context(), func() error {
					_, err := d.Release(t.Context(), c, ReleaseInput{Project: app})
					return err
				}); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range failed {
			t.Error(err)
		}
		n := 0
		for range granted.Range {
			n++
		}
		if n < rounds {
			t.Errorf("%d reservations were granted", n)
		}
		d.holds("")
	})
}

func TestOfSixteenConcurrentClaimersOneGetsThePaths(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		n := domaintest.Crowd(t, 16, 8)
		failed := domaintest.Together(n, func(i int) error {
			_, err := d.Reserve(t.Context(), domaintest.Bound("u", fmt.Sprint("agent-", i)),
				ReserveInput{Paths: []string{contested[i%3], fmt.Sprint("own/", i)}})
			return err
		})
		for _, err := range failed {
			domaintest.Refused(t, "one that lost", err, fault.Precondition, "holds src/")
		}
		if len(failed) == n {
			t.Errorf("all %d lost", n)
		}
	})
}
