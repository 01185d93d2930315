package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// The required ratios: of create_task to the baseline, and of the large store to the small one.
const (
	createAtLeast = 0.5
	growthAtMost  = 1.3
)

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

// report writes the table of measurements and then the required ratios.
func (r *recorder) report(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "OPERATION\tTRANSPORT\tCLIENTS\tDOCUMENTS\tP50 MS\tP99 MS\tCALLS/S\tOF BASELINE'S")
	slices.SortStableFunc(r.order, func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(rank(a.op), rank(b.op)), cmp.Compare(a.transport, b.transport),
			cmp.Compare(a.clients, b.clients), cmp.Compare(a.documents, b.documents))
	})
	for _, k := range r.order {
		c := r.cells[k]
		slices.Sort(c.took)
		ratio := "1"
		if len(c.ratios) > 0 {
			ratio = fmt.Sprintf("%.2f", median(c.ratios))
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%.0f\t%s\n", k.op, k.transport, k.clients, k.documents,
			ms(quantile(c.took, 0.5)), ms(quantile(c.took, 0.99)), median(c.rates), ratio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe baseline is a tool that does nothing (MCP) and a bare Echo handler (REST). "+
		"All ratios are medians over %d rounds.\n"+
		"DOCUMENTS is the number before the first write; operations that write add to it.\n\n", r.rounds)
	return r.required(out)
}

// rank returns the position of an operation in the table.
func rank(name string) int {
	return slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
}

// required writes a line for each required ratio that was measured.
func (r *recorder) required(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "REQUIRED\tTRANSPORT\tCLIENTS\tLIMIT\tMEASURED\t")
	for _, size := range r.sizes {
		k := cellKey{opCreate, mcp, 16, size}
		if c := r.cells[k]; c != nil {
			v := median(c.ratios)
			fmt.Fprintf(t, "%s of the baseline's calls/s at %d documents\t%s\t%d\t≥ %.1f\t%.2f\t%s\n",
				k.op, size, k.transport, k.clients, createAtLeast, v, verdict(v >= createAtLeast))
		}
	}
	for _, op := range []string{opTasks, opMail, opEmpty} {
		for _, transport := range []string{mcp, rest} {
			for _, clients := range clientCounts {
				few := r.cells[cellKey{op, transport, clients, r.sizes[0]}]
				many := r.cells[cellKey{op, transport, clients, r.sizes[1]}]
				if few == nil || many == nil {
					continue
				}
				v := median(quotients(many.p50, few.p50))
				fmt.Fprintf(t, "p50 of %s, %d ÷ %d documents\t%s\t%d\t≤ %.1f\t%.2f\t%s\n",
					op, r.sizes[1], r.sizes[0], transport, clients, growthAtMost, v, verdict(v <= growthAtMost))
			}
		}
	}
	return t.Flush()
}

func verdict(ok bool) string {
	if ok {
		return "holds"
	}
	return "DOES NOT HOLD"
}
