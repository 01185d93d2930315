package main

import (
	"context"
	"slices"
	"time"
)

var clientCounts = []int{1, 16}

// cellKey identifies a line of the table.
type cellKey struct {
	op, transport      string
	clients, documents int
}

// cell is the measurements of a line.
type cell struct {
	took   []time.Duration // of each call
	p50    []time.Duration // of each round
	rates  []float64       // of each round
	ratios []float64       // of each round, to the rate of the baseline
}

func (c *cell) add(s *slice) {
	slices.Sort(s.took)
	c.took = append(c.took, s.took...)
	c.p50 = append(c.p50, quantile(s.took, 0.5))
	c.rates = append(c.rates, s.rate())
}

// recorder runs rounds of slices and keeps their measurements.
type recorder struct {
	options
	targets []*target
	order   []cellKey // in the order of the first measurement
	cells   map[cellKey]*cell
}

func (r *recorder) cell(k cellKey) *cell {
	c := r.cells[k]
	if c == nil {
		c = &cell{}
		r.cells[k] = c
		r.order = append(r.order, k)
	}
	return c
}

// phase measures operations in rounds, after a short warm-up round that is not recorded.
func (r *recorder) phase(ctx context.Context, ops []operation, begin func(round int)) error {
	if len(ops) == 0 {
		return nil
	}
	warm := &recorder{options: r.options, targets: r.targets, cells: map[cellKey]*cell{}}
	warm.calls = max(16, r.calls/4)
	if err := warm.round(ctx, ops, 0); err != nil {
		return err
	}
	for n := range r.rounds {
		begin(n + 1)
		if err := r.round(ctx, ops, n); err != nil {
			return err
		}
	}
	return nil
}

// round measures each operation once with each transport, number of clients and size.
func (r *recorder) round(ctx context.Context, ops []operation, n int) error {
	for i := range ops {
		for _, transport := range []string{mcp, rest} {
			for _, clients := range clientCounts {
				targets := slices.Clone(r.targets)
				if n%2 == 1 {
					slices.Reverse(targets)
				}
				for _, t := range targets {
					if err := r.pair(ctx, t, &ops[i], transport, clients, n%2 == 1); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// pair measures an operation and the baseline, in an order that alternates between rounds.
func (r *recorder) pair(
	ctx context.Context, t *target, op *operation, transport string, clients int, opFirst bool,
) error {
	calls := r.calls
	if clients == 1 {
		calls /= 2
	}
	if op.long {
		calls *= 3
	}
	base := &slice{target: t, op: &baseline, transport: transport, clients: clients, calls: calls}
	if op.scarce {
		calls = max(8, calls/4)
	}
	s := &slice{target: t, op: op, transport: transport, clients: clients, calls: calls}
	both := []*slice{base, s}
	if opFirst {
		slices.Reverse(both)
	}
	for _, s := range both {
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	r.cell(cellKey{baseline.name, transport, clients, t.documents}).add(base)
	c := r.cell(cellKey{op.name, transport, clients, t.documents})
	c.add(s)
	c.ratios = append(c.ratios, s.rate()/base.rate())
	return nil
}
