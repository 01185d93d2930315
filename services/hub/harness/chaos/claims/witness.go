package claims

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// hold is a claim that its claimer was told it holds.
type hold struct {
	claimer  string
	shared   bool
	patterns []pattern
	token    int64 // the lowest of its tokens
	highest  int64
}

// witness records the holders of each file. It is safe for concurrent use.
type witness struct {
	mu    sync.Mutex
	holds map[string]map[*hold]bool // by file
	// ended has for each file the highest token of the claims that have ended, of exclusive ones and of all.
	exclusive, all map[string]int64
	wrong          []string
}

func newWitness() *witness {
	return &witness{holds: map[string]map[*hold]bool{}, exclusive: map[string]int64{}, all: map[string]int64{}}
}

// files returns the different files of a hold.
func (h *hold) files() []string {
	set := map[string]bool{}
	for _, p := range h.patterns {
		for _, f := range p.matches {
			set[f] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// begins records a hold, after its claim was answered.
func (w *witness) begins(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range h.files() {
		for o := range w.holds[f] {
			if o.claimer != h.claimer && (!o.shared || !h.shared) {
				w.wrong = append(w.wrong, fmt.Sprintf("%s is held by %s with %s and by %s with %s", f, o.claimer,
					line(o.patterns), h.claimer, line(h.patterns)))
			}
		}
		before := w.all[f]
		if h.shared {
			before = w.exclusive[f]
		}
		if h.token <= before {
			w.wrong = append(w.wrong, fmt.Sprintf("%s was held under the token %d, and then by %s under the token %d", f, before,
				h.claimer, h.token))
		}
		if w.holds[f] == nil {
			w.holds[f] = map[*hold]bool{}
		}
		w.holds[f][h] = true
	}
}

// ends records the end of a hold, before its release is sent.
func (w *witness) ends(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range h.files() {
		delete(w.holds[f], h)
		w.all[f] = max(w.all[f], h.highest)
		if !h.shared {
			w.exclusive[f] = max(w.exclusive[f], h.highest)
		}
	}
}

// violations returns the violations so far.
func (w *witness) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.wrong)
}
