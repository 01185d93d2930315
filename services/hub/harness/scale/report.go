package scale

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"parley.internal/services/hub/harness/scale/tally"
)

// The bars of a run of a thousand agents for ten minutes.
const (
	WakeAtMost   = 100 * time.Millisecond // of 99 in 100 messages
	MemoryAtMost = 512 << 20
)

// Report is the result of a run.
type Report struct {
	Agents int
	// Quick says that times and memory are not judged.
	Quick bool
	For   time.Duration
	// Rest is the time from the last sending until nothing was missing, or patience was at its end.
	Rest     time.Duration
	Channels []Channel
	Calls    map[string]Calls
	// Peak is the largest resident set of the server, in bytes.
	Peak int64
	// Processor is the time of the processors that the server used.
	Processor time.Duration
}

// Channel is the result of a channel.
type Channel struct {
	Name string
	tally.Sum
}

// wakes are the channels whose receivers wait, so that the time to the receipt is that of a wake. The human looks for
// questions at intervals, and a task may wait for a worker that is busy.
var wakes = []string{mail, teamMail}

// Bar is a limit and whether the run kept to it.
type Bar struct {
	Text  string
	Holds bool
}

// Bars returns the limits of a run.
func (r *Report) Bars() []Bar {
	lost, doubled, failed := 0, 0, 0
	for _, c := range r.Channels {
		lost, doubled = lost+c.Lost, doubled+c.Doubled
	}
	for _, c := range r.Calls {
		failed += c.Failed
	}
	out := []Bar{
		{fmt.Sprintf("lost: %d, limit 0", lost), lost == 0},
		{fmt.Sprintf("doubled: %d, limit 0", doubled), doubled == 0},
		{fmt.Sprintf("failed calls: %d, limit 0", failed), failed == 0},
	}
	if r.Quick {
		return out
	}
	out = append(out, Bar{fmt.Sprintf("memory of the server: %d MiB, limit %d MiB", r.Peak>>20, MemoryAtMost>>20),
		r.Peak > 0 && r.Peak < MemoryAtMost})
	for _, c := range r.Channels {
		if slices.Contains(wakes, c.Name) {
			out = append(out, Bar{
				fmt.Sprintf("p99 of a wake by a %s: %s ms, limit %s ms", c.Name, ms(c.P99), ms(WakeAtMost)),
				c.Received > 0 && c.P99 < WakeAtMost})
		}
	}
	return out
}

// Holds reports whether the run kept to all limits.
func (r *Report) Holds() bool {
	return !slices.ContainsFunc(r.Bars(), func(b Bar) bool { return !b.Holds })
}

// Write prints the report.
func (r *Report) Write(out io.Writer) error {
	fmt.Fprintf(out, "%d agents, %v, and %.1f s until all was read\n\n", r.Agents, r.For, r.Rest.Seconds())
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CHANNEL\tSENT\tRECEIVED\tLOST\tDOUBLED\tAGAIN\tP50 MS\tP99 MS\tMAX MS")
	for _, c := range r.Channels {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", c.Name, c.Sent, c.Received, c.Lost, c.Doubled, c.Again,
			ms(c.P50), ms(c.P99), ms(c.Max))
	}
	fmt.Fprintln(t, "\nCALL\tREQUESTS\tREPEATED\tFAILED\tFIRST FAILURE")
	for _, name := range slices.Sorted(maps.Keys(r.Calls)) {
		c := r.Calls[name]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", name, c.Requests, c.Repeated, c.Failed, c.First)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	requests := 0
	for _, c := range r.Calls {
		requests += c.Requests
	}
	fmt.Fprintf(out, "\nthe server used %.0f MiB, and %.1f s of the processors, %s ms for each of %d requests\n",
		float64(r.Peak)/(1<<20), r.Processor.Seconds(), ms(r.Processor/time.Duration(max(requests, 1))), requests)
	for _, b := range r.Bars() {
		verdict := "holds"
		if !b.Holds {
			verdict = "DOES NOT HOLD"
		}
		if _, err := fmt.Fprintf(out, "%s  %s\n", b.Text, verdict); err != nil {
			return err
		}
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
