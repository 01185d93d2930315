package chaos

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// Tally counts the requests of a run by operation and outcome. It is safe for concurrent use.
type Tally struct {
	mu       sync.Mutex
	outcomes map[string]map[string]int // by operation, then outcome
	took     map[string][]time.Duration
}

func newTally() *Tally {
	return &Tally{outcomes: map[string]map[string]int{}, took: map[string][]time.Duration{}}
}

// count records an attempt.
func (t *Tally) count(op, outcome string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcomes[op] == nil {
		t.outcomes[op] = map[string]int{}
	}
	if t.outcomes[op][outcome]++; outcome == "ok" {
		t.took[op] = append(t.took[op], took)
	}
}

// Succeeded returns the number of successful calls of an operation.
func (t *Tally) Succeeded(op string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outcomes[op]["ok"]
}

// Attempts returns the number of requests, and the number of those that had to be repeated.
func (t *Tally) Attempts() (all, repeated int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, outcomes := range t.outcomes {
		for outcome, n := range outcomes {
			if all += n; isTransient(outcome) {
				repeated += n
			}
		}
	}
	return all, repeated
}

// transient are the outcomes after which a call is repeated.
var transient = []string{"no answer", "502 balancer", "503 balancer", "CONFLICT", "UNAVAILABLE", "RESOURCE_EXHAUSTED"}

func isTransient(outcome string) bool { return slices.Contains(transient, outcome) }

// write prints one line for each operation: its outcomes and the latency of its successful calls.
func (t *Tally) write(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[string]bool{}
	for _, outcomes := range t.outcomes {
		for o := range outcomes {
			seen[o] = true
		}
	}
	columns := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
	})
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "call\t")
	for _, c := range columns {
		fmt.Fprint(w, c, "\t")
	}
	fmt.Fprintln(w, "p50 ms\tp95 ms\t")
	for _, op := range slices.Sorted(maps.Keys(t.outcomes)) {
		fmt.Fprint(w, op, "\t")
		for _, c := range columns {
			fmt.Fprint(w, t.outcomes[op][c], "\t")
		}
		slices.Sort(t.took[op])
		fmt.Fprintf(w, "%.1f\t%.1f\t\n", quantile(t.took[op], 0.5), quantile(t.took[op], 0.95))
	}
	_ = w.Flush() // an error of out recurs in the next write, which is checked
}

func order(outcome string) int {
	switch {
	case outcome == "ok":
		return 0
	case isTransient(outcome):
		return 1
	}
	return 2
}

// quantile returns the quantile q of sorted times in milliseconds, 0 for none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Microseconds()) / 1000
}
