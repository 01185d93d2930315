// Command chaos kills hubs under the agents that use them, and exits with 1 where
// anything came of it that no client was promised.
//
// It builds the hub, brings up the Firestore emulator, unless FIRESTORE_EMULATOR_HOST
// names one, and runs two hubs on it behind a balancer. Every few seconds one of them is
// killed, and another started, while agents create, claim and complete tasks, write to
// each other, ask their human, work in a team and talk at a fire. In the end the store
// is held against all that they were told.
//
// The numbers are the emulator's, which is slow where calls contend, and the machine's:
// they tell that work went on, and nothing of Firestore.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley.internal/services/hub/harness/chaos"
	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/store/emulator"
)

func main() {
	o := chaos.Options{Grace: 2 * time.Minute, Slack: time.Minute, SweepEvery: 2 * time.Second, Notes: os.Stderr}
	flag.DurationVar(&o.For, "for", time.Minute, "how long agents begin new work")
	flag.DurationVar(&o.Every, "every", 3*time.Second, "about how often a hub is killed")
	flag.IntVar(&o.Agents, "agents", 32, "how many there are")
	flag.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "what agents choose by; a new one where left out")
	flag.IntVar(&o.Lost, "lost", 2, "how many of a hundred answers get lost on their way")
	hub := flag.String("hub", "", "a hub that was built already")
	keep := flag.Bool("keep", false, "keep what the hubs wrote, also where nothing was found")
	flag.Parse()
	if o.For <= 0 || o.Every < 100*time.Millisecond || o.Agents < 2 {
		fmt.Fprintln(os.Stderr, "chaos: -for is more than 0, -every at least 100ms, and there are at least 2 agents")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good, err := run(ctx, o, *hub, *keep, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run is a run with all that it needs; it leaves nothing behind, but the logs of one
// that found something.
func run(ctx context.Context, o chaos.Options, hub string, keep bool, out io.Writer) (good bool, err error) {
	fmt.Fprintf(out, "seed %d, %d agents, %v\n", o.Seed, o.Agents, o.For)
	if o.Dir, err = os.MkdirTemp("", "parley-chaos-"); err != nil {
		return false, err
	}
	defer func() {
		if good && !keep {
			err = errors.Join(err, os.RemoveAll(o.Dir))
			return
		}
		fmt.Fprintf(out, "what the hubs wrote is in %s\n", o.Dir)
	}()
	if hub == "" {
		hub = filepath.Join(o.Dir, "parley")
		if err := program.Build(ctx, hub); err != nil {
			return false, err
		}
	}
	e, err := emulator.Start(ctx)
	if err != nil {
		return false, err
	}
	defer e.Stop()
	o.Hub, o.Env = []string{hub, "serve"}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir}
	o.Project, o.Emulator = "demo-chaos-"+strings.ToLower(rand.Text()[:12]), e.Addr
	report, err := chaos.Run(ctx, o)
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out)
	if err := report.Write(out); err != nil {
		return false, err
	}
	return len(report.Violations) == 0, nil
}
