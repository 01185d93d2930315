package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/services/hub/harness/chaos/txproxy"
	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Options configure a run.
type Options struct {
	// Hub is the command that serves, with its arguments, and Env is its environment. Run adds the flag --addr, so that
	// the hub takes a free port and prints it.
	Hub []string
	Env []string
	// Dir is the directory for the hubs' logs.
	Dir string
	// Project is a Firestore project without documents, in the emulator at Emulator, a host:port.
	Project, Emulator string

	Agents int
	Seed   uint64
	// TypeScript are the SDKs of some of the agents; nil leaves them out.
	TypeScript *typescript.SDKs
	// Lost is the percentage of answers that are lost between a hub and its client.
	Lost int
	// Silent is the number of requests in a thousand whose connections go silent in both directions, half of them before
	// a hub gets the request. The agent gives up such a request after its wait and Patience. Hold is the time after which
	// the balancer drops the connections.
	Silent         int
	Patience, Hold time.Duration
	// For is the time in which agents begin new moves, and Every the average time between two kills. If For is zero,
	// each agent makes Moves moves, and Kills hubs are killed at even distances.
	For, Every   time.Duration
	Moves, Kills int
	// Grace is the time in which moves in flight must end after the last kill, and Slack the time that an answer may
	// take in addition to the wait that its call asks for. A run that exceeds either one reports a violation.
	Grace, Slack time.Duration
	// SweepEvery is the interval at which all sweeps run.
	SweepEvery time.Duration
	// Notes receives a line for each kill.
	Notes io.Writer
}

// hubs is the number of hubs that serve at the same time.
const hubs = 2

// run is the state of a run in progress.
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
	limits   limits
	crews    []*crew
	callers  []*caller.Caller // those over MCP
	report   *Report

	mu   sync.Mutex
	live []*fleet.Hub
}

// Run runs agents on hubs that are killed and returns the report, which lists the violations that it found. An error
// means that the run could not be completed.
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
	r := &run{options: o, app: app.New(db, app.Ports{}), admin: store.NewAdmin(db), balancer: balancer.New(),
		client: newHTTPClient(), tally: newTally(), pace: newPace(o), limits: newLimits()}
	r.report = &Report{Tally: r.tally, Kills: map[string]int{}, Checked: map[string]int{}, Swept: map[string]int{},
		Began: time.Now()}
	r.fleet = &fleet.Fleet{Args: append(append([]string{}, o.Hub...), "--addr", "127.0.0.1:0"), Dir: o.Dir,
		Env: append(append([]string{}, o.Env...), "PARLEY_STORE=firestore", "GOOGLE_CLOUD_PROJECT="+o.Project,
			"FIRESTORE_EMULATOR_HOST="+proxy.Addr)}
	r.balancer.Lose, r.balancer.Hold = r.lose(), o.Hold
	r.balancer.Silence = func(req *http.Request) balancer.Hole { return o.hole(req.Header.Get("X-Request-Id")) }
	var stop func()
	if r.base, stop, err = r.balancer.Listen(ctx); err != nil {
		return nil, err
	}
	defer stop()
	defer func() {
		for _, c := range r.callers {
			err = errors.Join(err, c.Close())
		}
		r.client.CloseIdleConnections()
	}()
	if err := r.setUp(ctx); err != nil {
		return nil, errors.Join(err, r.fleet.Close())
	}
	err = r.simulate(ctx)
	r.report.Holes = r.balancer.Holes()
	if err := r.fleet.Close(); err != nil {
		r.report.violate(witness.Clean, "%v", err)
	}
	switch {
	case errors.Is(err, errNoProgress): // the calls in flight are unknown, so an audit would prove nothing
		r.report.violate(witness.Waits, "%v", err)
		return r.report, r.explain()
	case err != nil:
		return nil, err
	}
	for _, h := range r.fleet.Hubs() {
		if h.Late() {
			r.report.Late++
		}
	}
	return r.report, r.audit(ctx)
}

// lose returns a function that chooses the answers that are lost, at random from the seed.
func (r *run) lose() func() bool {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(r.options.Seed, 1))
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(100) < r.options.Lost
	}
}

// hole returns where the request with an id vanishes, so that agents and balancer agree on it. A request without an id
// of an agent does not vanish.
func (o Options) hole(requestID string) balancer.Hole {
	at := hash(fmt.Sprint(o.Seed, requestID)) % 2000
	switch {
	case !strings.Contains(requestID, ".p") || int(at) >= 2*o.Silent:
		return balancer.None
	case at%2 == 0:
		return balancer.Before
	}
	return balancer.After
}

// setUp starts the hubs and creates the crews.
func (r *run) setUp(ctx context.Context) error {
	for range hubs {
		if err := r.launch(ctx); err != nil {
			return err
		}
	}
	if err := r.balancer.Await(ctx, hubs); err != nil {
		return err
	}
	for left, n := r.options.Agents, 0; left > 0; left, n = left-crewSize, n+1 {
		c, err := r.newCrew(ctx, n, min(left, crewSize))
		if err != nil {
			return fmt.Errorf("cannot create a crew: %w", err)
		}
		r.crews = append(r.crews, c)
	}
	return nil
}

// simulate lets all agents act while hubs are killed. Once they have ended and all hubs are up, each agent reads the
// rest of its mail.
func (r *run) simulate(ctx context.Context) error {
	serving, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { r.sweep(serving) })
	humans := make(chan error, len(r.crews))
	for _, c := range r.crews {
		background.Go(func() { humans <- c.answerQuestions(serving) })
	}
	// A move that began while hubs were killed has the grace period to end.
	acting, stopActing := r.pace.withGrace(ctx, r.options.Grace)
	defer stopActing()
	killed := make(chan error, 1)
	go func() { killed <- r.kill(acting) }()
	failed := r.forAllAgents(func(a *agent) error { return a.act(acting, r.pace.more) })
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
	calm, stopCalm := context.WithTimeoutCause(ctx, r.options.Grace, errNoProgress)
	defer stopCalm()
	if err := r.balancer.Await(calm, hubs); err != nil {
		return err
	}
	return r.forAllAgents(func(a *agent) error { return a.drain(calm) })
}

// errNoProgress ends the calls that have not succeeded when the grace period is over.
var errNoProgress = errors.New("it must succeed within the grace period after the last kill")

// forAllAgents calls do for all agents at the same time and returns the joined errors.
func (r *run) forAllAgents(do func(*agent) error) error {
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
