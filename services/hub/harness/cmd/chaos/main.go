// Command chaos kills hubs while agents use them, and exits with status 1 if a promise to a client was broken.
//
// It builds the hub, starts the Firestore emulator unless FIRESTORE_EMULATOR_HOST names one, and runs two hubs on it
// behind a load balancer. Every few seconds one of them is killed and another started, while agents create, claim and
// complete tasks, write to each other, ask their human, work in teams and post to campfires. In the end the store is
// compared with the answers that they got. Then claimers reserve files on each of the stores, on hubs that are killed,
// and no file may have two holders; on the embedded store two versions of the program take turns.
//
// The latencies are those of the emulator, which is slow under contention, and of the machine. They show that work went
// on, and tell nothing about Firestore.
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
	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/store/emulator"
)

func main() {
	o := chaos.Options{Grace: 2 * time.Minute, Slack: time.Minute, SweepEvery: 2 * time.Second,
		Patience: 10 * time.Second, Hold: 150 * time.Second, Notes: os.Stderr}
	flag.DurationVar(&o.For, "for", time.Minute, "the time in which agents begin new work")
	flag.DurationVar(&o.Every, "every", 3*time.Second, "the average time between two kills")
	flag.IntVar(&o.Agents, "agents", 32, "the number of agents")
	flag.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "the seed of the agents' choices (default: the time)")
	flag.IntVar(&o.Lost, "lost", 2, "the percentage of answers that are lost")
	flag.IntVar(&o.Silent, "silent", 10, "the number of requests in a thousand whose connections go silent, without an end")
	c := claimOptions{}
	flag.IntVar(&c.claimers, "claimers", 16, "the number of claimers of files")
	flag.IntVar(&c.globs, "globs", 1000, "the number of patterns that each of them claims, 0 for none")
	flag.IntVar(&c.kills, "claim-kills", 20, "the number of hubs that are killed meanwhile, on each of the stores")
	flag.DurationVar(&c.asleep, "asleep", 70*time.Second,
		"the time for which a hub sleeps while files are claimed, once on each of the stores")
	hub := flag.String("hub", "", "the path of a hub's program (default: build it)")
	keep := flag.Bool("keep", false, "keep the hubs' logs even if there are no violations")
	flag.Parse()
	if o.For <= 0 || o.Every < 100*time.Millisecond || o.Agents < 2 || c.claimers < 2 || c.globs < 0 ||
		c.kills < 0 {
		fmt.Fprintln(os.Stderr, "chaos: -for must be more than 0, -every at least 100ms, -agents and -claimers at least 2, "+
			"-globs and -claim-kills at least 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good, err := run(ctx, o, c, *hub, *keep, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run builds the hub, starts the emulator and makes the runs. It reports whether there were no violations. It keeps the
// hubs' logs if there were, if the run failed, or if keep is set.
func run(ctx context.Context, o chaos.Options, c claimOptions, hub string, keep bool, out io.Writer) (good bool, err error) {
	fmt.Fprintf(out, "seed %d, %d agents, %v\n", o.Seed, o.Agents, o.For)
	if o.Dir, err = os.MkdirTemp("", "parley-chaos-"); err != nil {
		return false, err
	}
	defer func() {
		if good && !keep {
			err = errors.Join(err, os.RemoveAll(o.Dir))
			return
		}
		fmt.Fprintf(out, "the hubs' logs are in %s\n", o.Dir)
	}()
	if err := findSDKs(ctx, &o, out); err != nil {
		return false, err
	}
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
	o.Hub, o.Env = []string{hub, "serve", "--waits-key", "0", "--waits-user", "0"}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir}
	o.Project, o.Emulator = "demo-chaos-"+strings.ToLower(rand.Text()[:12]), e.Addr
	report, err := chaos.Run(ctx, o)
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out)
	if err := report.Write(out); err != nil {
		return false, err
	}
	if good = len(report.Violations) == 0; c.globs == 0 {
		return good, nil
	}
	held, err := c.claim(ctx, o, out)
	return good && held && err == nil, err
}

// findSDKs gives some of the agents the SDKs for TypeScript. A machine without them is told to out, and is an error where
// nothing may be left out.
func findSDKs(ctx context.Context, o *chaos.Options, out io.Writer) (err error) {
	if o.TypeScript, err = typescript.Find(ctx); err == nil {
		return nil
	}
	if emulator.Required() || !errors.Is(err, typescript.ErrMissing) {
		return err
	}
	_, err = fmt.Fprintf(out, "no agent uses a TypeScript SDK: %v\n", err)
	return err
}
