// Command bench measures the cost of a call on the embedded store.
//
// It builds the server and starts it as two processes, on a store of 100 and on one of 100,000 documents, and calls both
// over MCP and REST with 1 and with 16 clients. Each slice of an operation is measured beside a slice of the baseline: a
// tool that does nothing (MCP) or a bare Echo handler (REST). The slices of one round follow each other closely, so that
// other load on the machine affects all of them alike: read the ratios, not the milliseconds.
//
// Further measurements are the latency from a message to the end of the poll that waits for it, the time from a server's
// start to its first answer, the time and memory of a sweep of few and of many expired messages on both stores, and the
// time of the early and late rounds of a verification, that of a check of files against a full board, that of a hook of a
// client, that of searches over the larger number of documents, and the calls and wakes of users beside a greedy one.
//
// Client and server share the machine's cores, as on a laptop.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	calls, rounds int
	sizes         [2]int
	only          []string
	expired       expired
	verifications int
	wakes, starts int
	checks        int
	hooks         int
	searches      int
	slices        int // of the users beside a greedy one, and how long each is
	slice         time.Duration
}

func main() {
	calls := flag.Int("calls", 480, "calls in a slice with 16 clients; half as many with one")
	quick := flag.Bool("quick", false, "run everything on a small scale; the numbers mean nothing")
	greedy := flag.Bool("greedy", false, "measure only the users beside a greedy one")
	hooks := flag.Bool("hooks", false, "measure only the hooks of clients")
	only := flag.String("only", "", "the operations to measure, separated by commas (default all)")
	flag.Parse()
	o := options{calls: *calls, rounds: 7, sizes: [2]int{100, 100_000}, expired: expired{2_000, 10_000},
		verifications: 120, wakes: 200, starts: 20, checks: 1000, hooks: 300, searches: 200, slices: 5, slice: 4 * time.Second}
	if *quick {
		o = quickOptions
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	measure := run
	switch {
	case *greedy:
		measure = runNeighbours
	case *hooks:
		measure = runHooks
	}
	err := measure(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// quickOptions are the options of -quick.
var quickOptions = options{calls: 16, rounds: 2, sizes: [2]int{100, 500}, expired: expired{100, 300},
	verifications: 3, wakes: 3, starts: 2, checks: 20, hooks: 6, searches: 2, slices: 1, slice: time.Second}

// run measures and writes the report to out and its progress to notes.
func run(ctx context.Context, o options, out, notes io.Writer) (err error) {
	ops, err := selectOperations(o.only)
	if err != nil {
		return err
	}
	begin := time.Now()
	dir, binary, done, err := workshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	var targets []*target
	defer func() {
		for _, t := range targets {
			err = errors.Join(err, t.stop())
		}
	}()
	for _, size := range o.sizes {
		t, err := start(ctx, binary, dir, size)
		if err != nil {
			return err
		}
		targets = append(targets, t)
		fmt.Fprintf(notes, "%6.1fs  a server on %d documents at %s\n", time.Since(begin).Seconds(), size, t.base)
		if err := t.checkPages(ctx); err != nil {
			return err
		}
	}
	r := &recorder{options: o, targets: targets, cells: map[cellKey]*cell{}}
	// Operations that only read are measured first, while the stores have their initial size.
	for _, phase := range []struct {
		name  string
		grows bool
	}{{"reading", false}, {"writing", true}} {
		if err := r.phase(ctx, filter(ops, phase.grows), func(round int) {
			fmt.Fprintf(notes, "%6.1fs  %s, round %d of %d\n", time.Since(begin).Seconds(), phase.name, round, o.rounds)
		}); err != nil {
			return err
		}
	}
	if err := r.report(out); err != nil || len(o.only) > 0 {
		return err
	}
	return measureOthers(ctx, o, binary, dir, targets, out)
}

// measureOthers measures everything but the operations, one after the other.
func measureOthers(ctx context.Context, o options, binary, dir string, targets []*target, out io.Writer) error {
	for _, t := range targets {
		if err := t.wakes(ctx, o.wakes, out); err != nil {
			return err
		}
	}
	if err := targets[0].hooks(ctx, dir, o.hooks, out); err != nil {
		return err
	}
	if err := startups(ctx, binary, dir, o.starts, out); err != nil {
		return err
	}
	if err := neighbours(ctx, binary, dir, o.slice, o.slices, out); err != nil {
		return err
	}
	if err := sweeps(ctx, dir, o.expired, out); err != nil {
		return err
	}
	if err := verifications(ctx, dir, o.verifications, out); err != nil {
		return err
	}
	if err := reservationChecks(ctx, dir, o.checks, out); err != nil {
		return err
	}
	return searches(ctx, dir, o.sizes[1], o.searches, out)
}
