package line

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// world is a store of work and the calls that wait for it, which make random steps.
type world struct {
	*testing.T
	random *rand.Rand
	lines  Lines[names]
	store  []Work[names] // that nobody has
	calls  []*caller
	made   int
}

// caller is a call between two steps.
type caller struct {
	*Place[names]
	seen   []Work[names] // by a look that is under way
	looks  bool
	taken  *Work[names]
	follow bool // it has looked in vain and waits
}

// step makes one random step.
func (w *world) step() {
	n := w.random.IntN(10)
	if n == 0 || len(w.calls) == 0 {
		name := string("xyz"[w.random.IntN(3)])
		w.calls = append(w.calls, &caller{Place: enter(&w.lines, name)})
		return
	}
	if n == 1 {
		w.made++
		all := []string{"x", "y", "z", "x y", "y z", "x y z"}
		work := Work[names]{fmt.Sprint(w.made), all[w.random.IntN(len(all))]}
		w.store = append(w.store, work)
		w.lines.Offer("user", work)
		return
	}
	i := w.random.IntN(len(w.calls))
	c := w.calls[i]
	if w.goesOn(c) {
		return
	}
	w.calls = slices.Delete(w.calls, i, i+1)
}

// goesOn makes a step of one call. It returns false if that has left.
func (w *world) goesOn(c *caller) bool {
	have := func(id string) int { return slices.IndexFunc(w.store, func(s Work[names]) bool { return s.ID == id }) }
	switch {
	case c.taken != nil:
		t := *c.taken
		c.taken = nil
		at := have(t.ID)
		switch n := w.random.IntN(4); {
		case at < 0: // another call got it after it was found
			c.Lost(t, Nobody)
		case n == 0:
			c.Lost(t, Anybody)
		case n == 1: // others claim it, and some give it back
			if w.random.IntN(2) == 0 {
				w.lines.Offer("user", t)
			} else {
				w.store = slices.Delete(w.store, at, at+1)
			}
			c.Lost(t, Nobody)
		default:
			w.store = slices.Delete(w.store, at, at+1)
			c.Leave(t.ID)
			return false
		}
	case w.random.IntN(12) == 0: // it is cancelled, or its time is over
		c.Leave("")
		return false
	case closed(c.Given()):
		c.looks, c.follow = false, false
		if t, ok := c.Take(); ok {
			c.taken = &t
		}
	case closed(c.turn) && c.looks:
		c.looks = false
		if c.Found(c.seen) {
			if t, ok := c.Take(); ok {
				c.taken = &t
			}
		} else {
			c.follow = c.Idle()
		}
	case closed(c.turn) && !c.follow:
		c.Looking(c.fits)
		c.looks, c.seen = true, nil
		for _, s := range w.store {
			if c.fits(s) {
				c.seen = append(c.seen, s)
			}
		}
	}
	return true
}

// tried returns work that two calls try.
func (w *world) tried() string {
	seen := map[string]bool{}
	for _, c := range w.calls {
		if c.taken != nil {
			if seen[c.taken.ID] {
				return "two calls try " + c.taken.ID
			}
			seen[c.taken.ID] = true
		}
	}
	return ""
}

// starving returns a call that waits for work that is there and that nobody tries.
func (w *world) starving() string {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	for _, o := range w.lines.owners {
		for _, ln := range o.lines {
			for _, s := range w.store {
				if _, tried := o.trying[s.ID]; !tried && ln.isIdle() && ln.waiting[0].fits(s) {
					return fmt.Sprintf("the first of %s waits for %s", ln.waiting[0].key, s.ID)
				}
			}
		}
	}
	return ""
}

func TestNobodyWaitsForWorkThatIsThereAndThatNobodyTries(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		w := &world{T: t, random: rand.New(rand.NewPCG(seed, 0))}
		for i := range 2000 {
			w.step()
			if s := w.starving() + w.tried(); s != "" {
				t.Fatalf("seed %d, after %d steps: %s", seed, i, s)
			}
		}
		for _, c := range w.calls {
			id := ""
			if c.taken != nil {
				id = c.taken.ID
			}
			c.Leave(id)
		}
		if len(w.lines.owners) > 0 {
			t.Fatalf("seed %d: something is kept after all have left", seed)
		}
	}
}
