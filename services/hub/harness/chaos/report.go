package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/store"
)

// Report is the result of a run.
type Report struct {
	Tally *Tally
	// Kills counts the hubs that were ended or suspended, by the signal, and Restarts their replacements.
	Kills    map[string]int
	Restarts int
	// Late counts the hubs that abandoned calls in flight after SIGTERM.
	Late int
	// Stalled counts the uploads that did not go on while a hub ended after SIGTERM.
	Stalled int
	// TypeScript is the number of agents with an SDK for TypeScript.
	TypeScript int
	// Holes counts the requests whose connections went silent until the hubs were stopped.
	Holes balancer.Holes
	// Swept counts the documents that sweeps handled, by step.
	Swept map[string]int
	// Checked counts the facts that were compared with the store, by kind.
	Checked    map[string]int
	Violations []witness.Violation
	Began      time.Time
	// Took is the duration of the run.
	Took time.Duration

	mu   sync.Mutex
	logs []string // the hubs' log lines about the requests of violations
}

// violate records a violation that no client saw.
func (r *Report) violate(promise, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations = append(r.Violations, witness.Violation{Promise: promise, Text: fmt.Sprintf(format, args...)})
}

// gaveUp counts a wait that an agent has given up.
func (r *Report) gaveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Checked["waits given up"]++
}

// countSwept adds the documents that a sweep handled.
func (r *Report) countSwept(handled map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for step, n := range handled {
		r.Swept[step] += n
	}
}

// audit compares the book of every crew with the store.
func (r *run) audit(ctx context.Context) error {
	for _, c := range r.crews {
		docs := witness.Documents{}
		if err := r.admin.Walk(ctx, c.user, func(page []store.Raw) error {
			for _, raw := range page {
				docs[raw.Ref] = raw.Fields
			}
			return nil
		}); err != nil {
			return fmt.Errorf("cannot read the documents of %s: %w", c.user, err)
		}
		found := c.book.Audit(docs, time.Now())
		for kind, n := range found.Checked {
			r.report.Checked[kind] += n
		}
		r.report.Checked["documents"] += len(docs)
		r.report.Violations = append(r.report.Violations, found.Violations...)
		wrong, checked := c.calls.Check()
		r.report.Checked["calls in an order"] += checked
		for _, text := range wrong {
			r.report.violate(witness.Ordered, "%s of %s", text, c.user)
		}
	}
	return r.explain()
}

// explain completes the report with the hubs' log lines about the requests of violations.
func (r *run) explain() error {
	r.report.Took = time.Since(r.report.Began)
	var ids []string
	for _, v := range r.report.Violations {
		if v.RequestID != "" && len(ids) < 20 {
			ids = append(ids, `"`+v.RequestID+`"`)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for _, h := range r.fleet.Hubs() {
		f, err := os.Open(h.Log)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(lines.Text(), id) }) {
				r.report.logs = append(r.report.logs, h.Name+": "+lines.Text())
			}
		}
		_ = f.Close() // opened for reading only
		if err := lines.Err(); err != nil {
			return err
		}
	}
	return nil
}

// maxShown is the maximum number of violations that are printed.
const maxShown = 40

// Write prints the report.
func (r *Report) Write(out io.Writer) error {
	r.Tally.write(out)
	all, repeated := r.Tally.Attempts()
	fmt.Fprintf(out, "\n%d requests, %d of them repeated; hubs ended or put to sleep: %s, %d late; "+
		"stalled uploads: %d; restarts: %d; %.0f s in all\n", all, repeated, counts(r.Kills), r.Late, r.Stalled, r.Restarts,
		r.Took.Seconds())
	fmt.Fprintf(out, "agents with a TypeScript SDK: %d\n", r.TypeScript)
	h := r.Holes
	fmt.Fprintf(out, "requests whose connections went silent: %d, of them %d before a hub got them; "+
		"dropped since: %d, which the agent had left in %d cases and the hub in %d\n",
		h.Calls, h.Unsent, h.Dropped, h.LeftByClient, h.LeftByServer)
	fmt.Fprintf(out, "swept: %s\n", counts(r.Swept))
	fmt.Fprintf(out, "compared with the store: %s\n", counts(r.Checked))
	_, err := fmt.Fprintf(out, "violations: %d\n", len(r.Violations))
	for i, v := range r.Violations {
		if i == maxShown {
			_, err = fmt.Fprintf(out, "  and %d more\n", len(r.Violations)-maxShown)
			break
		}
		_, err = fmt.Fprintf(out, "  %s\n", v)
	}
	for _, line := range r.logs {
		_, err = fmt.Fprintf(out, "  %s\n", line)
	}
	return err
}

func counts(by map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] > 0 {
			out = append(out, fmt.Sprintf("%d %s", by[name], name))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
