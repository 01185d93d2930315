package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/services/hub/harness/chaos/txproxy"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Options are what a run is.
type Options struct {
	// Hub is the command that serves, with its arguments, and Env its environment. It is
	// told of no address: it takes a free port and says which.
	Hub []string
	Env []string
	// Dir is where the hubs' output is kept.
	Dir string
	// Project is a Firestore project without documents, at the emulator at Emulator, host:port.
	Project, Emulator string

	Agents int
	Seed   uint64
	// Lost is how many of a hundred answers get lost between a hub and its client.
	Lost int
	// For is how long agents begin new moves, and Every about how often a hub is
	// killed meanwhile. Where For is zero each agent makes Moves moves, and Kills hubs
	// are killed at even distances.
	For, Every   time.Duration
	Moves, Kills int
	// Grace is how long what was begun may take once no hub is killed any more, Slack
	// how long one answer may beyond what its call waits for. Both are there to tell
	// slow from never.
	Grace, Slack time.Duration
	// SweepEvery is how often all sweeps run.
	SweepEvery time.Duration
	// Notes gets a line for each kill.
	Notes io.Writer
}

// hubs is how many serve at once.
const hubs = 2

// run is one under way.
type run struct {
	options  Options
	app      *app.App
	admin    *store.Admin
	fleet    *fleet.Fleet
	balancer *balancer.Balancer
	base     string // the balancer's URL
	client   *http.Client
	tally    *Tally
	pace     *pace
	turns    turns
	crews    []*crew
	report   *Report

	mu   sync.Mutex
	live []*fleet.Hub
}

// Run lets agents loose on hubs and says what came of it. An error says that there was
// no run to its end; what went wrong in one that there was is in the report.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	d, err := firestore.Open(ctx, firestore.Options{Project: o.Project, EmulatorHost: o.Emulator})
	if err != nil {
		return nil, err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	proxy, err := txproxy.New(ctx, o.Emulator)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	r := &run{options: o, app: app.New(db, app.Ports{}), admin: store.NewAdmin(db), balancer: balancer.New(), client: connections(), tally: newTally(), pace: newPace(o), turns: newTurns()}
	r.report = &Report{Tally: r.tally, Kills: map[string]int{}, Checked: map[string]int{}, Swept: map[string]int{}, Began: time.Now()}
	r.fleet = &fleet.Fleet{Args: append(append([]string{}, o.Hub...), "--addr", "127.0.0.1:0"), Dir: o.Dir,
		Env: append(append([]string{}, o.Env...), "PARLEY_STORE=firestore", "GOOGLE_CLOUD_PROJECT="+o.Project, "FIRESTORE_EMULATOR_HOST="+proxy.Addr)}
	stop, err := r.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := r.stage(ctx); err != nil {
		return nil, errors.Join(err, r.fleet.Close())
	}
	played := r.play(ctx)
	if err := r.fleet.Close(); err != nil {
		r.report.wrong(witness.Clean, "%v", err)
	}
	switch {
	case errors.Is(played, errNever): // what was on its way is not known, so there is nothing to audit
		r.report.wrong(witness.Waits, "%v", played)
		return r.report, r.explain()
	case played != nil:
		return nil, played
	}
	for _, h := range r.fleet.Hubs() {
		if h.Late() {
			r.report.Late++
		}
	}
	return r.report, r.audit(ctx)
}

// serve puts the balancer on a free port of this machine.
func (r *run) serve(ctx context.Context) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.base = "http://" + listener.Addr().String()
	var dice sync.Mutex
	chance := rand.New(rand.NewPCG(r.options.Seed, 1))
	r.balancer.Lose = func() bool {
		dice.Lock()
		defer dice.Unlock()
		return chance.IntN(100) < r.options.Lost
	}
	srv := &http.Server{Handler: r.balancer, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(listener) }) // closed, always
	return func() {
		r.client.CloseIdleConnections()
		_ = srv.Close() // its listener alone could fail, at its end
		served.Wait()
		r.balancer.Close()
	}, nil
}

// stage starts the hubs and makes the crews.
func (r *run) stage(ctx context.Context) error {
	for range hubs {
		if err := r.launch(ctx); err != nil {
			return err
		}
	}
	if err := r.rotation(ctx, hubs); err != nil {
		return err
	}
	for left, n := r.options.Agents, 0; left > 0; left, n = left-crewSize, n+1 {
		c, err := r.muster(ctx, n, min(left, crewSize))
		if err != nil {
			return fmt.Errorf("cannot make a crew: %w", err)
		}
		r.crews = append(r.crews, c)
	}
	return nil
}

// rotation waits until so many hubs are up.
func (r *run) rotation(ctx context.Context, n int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for r.balancer.Up() < n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d hubs are to be up, and %d are: %w", n, r.balancer.Up(), context.Cause(ctx))
		}
	}
	return nil
}

// play is the run itself: all act while hubs are killed, then calm, then all read what
// is left.
func (r *run) play(ctx context.Context) error {
	behind, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { r.sweep(behind) })
	humans := make(chan error, len(r.crews))
	for _, c := range r.crews {
		background.Go(func() { humans <- c.attend(behind) })
	}
	// What began in the storm is to end in the calm after it, but not sooner.
	acting, patience := r.pace.patient(ctx, r.options.Grace)
	defer patience()
	killed := make(chan error, 1)
	go func() { killed <- r.kill(acting) }()
	failed := r.everybody(func(a *agent) error { return a.act(acting, r.pace.more) })
	r.pace.end()
	if err := errors.Join(failed, <-killed, ctx.Err()); err != nil {
		return err
	}
	for _, c := range r.crews {
		close(c.done)
		if err := <-humans; err != nil {
			return err
		}
	}
	calm, patience := context.WithTimeoutCause(ctx, r.options.Grace, errNever)
	defer patience()
	if err := r.rotation(calm, hubs); err != nil {
		return err
	}
	return r.everybody(func(a *agent) error { return a.drain(calm) })
}

// errNever is what ends a call that will not succeed.
var errNever = errors.New("it does not succeed, although no hub is killed any more")

// everybody has all agents do something at once.
func (r *run) everybody(do func(*agent) error) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, c := range r.crews {
		for _, a := range c.agents {
			all.Go(func() {
				if err := do(a); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
				}
			})
		}
	}
	all.Wait()
	return failed
}

// stepped counts a move.
func (r *run) stepped() { r.pace.step() }
