// Command scale lets 1,000 agents of one user work with one server on the embedded store, and exits with status 1 if a
// message, a task or an answer was lost or came twice, if waking an agent that waits for a message took too long, or if
// the server needed too much memory.
//
// It builds the server and runs it as a process of its own. The agents share the machine with it, as on a laptop; read
// the times with that in mind. With -quick the load is small and short, and the times and the memory are not judged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"parley.internal/services/hub/harness/program"
	"parley.internal/services/hub/harness/scale"
)

func main() {
	o := scale.Options{Notes: os.Stderr}
	flag.IntVar(&o.Agents, "agents", 1000, "the number of agents")
	flag.DurationVar(&o.For, "for", 10*time.Minute, "the time in which the agents send")
	flag.DurationVar(&o.Pace, "pace", 10*time.Second, "the average time between two actions of an agent")
	flag.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "the seed of the agents' choices (default: the time)")
	hub := flag.String("hub", "", "the path of the program (default: build it)")
	flag.BoolVar(&o.Quick, "quick", false, "80 agents for 20 seconds; the times and the memory are not judged")
	flag.Parse()
	if o.Quick {
		o.Agents, o.For, o.Pace = 80, 20*time.Second, 2*time.Second
	}
	if o.Agents < 4 || o.For <= 0 || o.Pace <= 0 {
		fmt.Fprintln(os.Stderr, "scale: -agents must be at least 4, -for and -pace more than 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	report, err := run(ctx, o, *hub, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
	}
	if err != nil || !report.Holds() {
		os.Exit(1)
	}
}

// run builds the program where none is given, makes the run and prints the report.
func run(ctx context.Context, o scale.Options, hub string, out io.Writer) (report *scale.Report, err error) {
	fmt.Fprintf(out, "seed %d\n", o.Seed)
	if o.Dir, err = os.MkdirTemp("", "parley-scale-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	if o.Hub = hub; hub == "" {
		o.Hub = filepath.Join(o.Dir, "parley")
		if err := program.Build(ctx, o.Hub); err != nil {
			return nil, err
		}
	}
	if report, err = scale.Run(ctx, o); err != nil {
		return nil, err
	}
	return report, report.Write(out)
}
