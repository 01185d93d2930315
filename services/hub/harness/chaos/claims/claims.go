package claims

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/services/hub/harness/chaos/txproxy"
	"parley.internal/shared/app"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
)

// Options configure a run.
type Options struct {
	// Hub is the command that serves, with its arguments, and Env is its environment. Run adds the store and the address.
	Hub []string
	Env []string
	// Later is the command of a later version of the hub, which keeps other indexes. If there is one, both versions take
	// turns on the embedded store, and each is started once more beside the other, which must refuse it.
	Later []string
	// Asleep is the time for which a hub sleeps, once, as a laptop does: its clock has jumped then. None sleeps if it is 0.
	Asleep time.Duration
	// Dir is an empty directory for the hubs' logs and the embedded store.
	Dir string
	// Project is a Firestore project without documents, in the emulator at Emulator. Without them the store is SQLite.
	Project, Emulator string
	// Claimers claim Globs patterns each, while Kills hubs are killed at even distances.
	Claimers, Globs, Kills int
	Seed                   uint64
	// Notes receives a line for each kill.
	Notes io.Writer
}

// Report is the result of a run.
type Report struct {
	Store string
	// Claims counts the calls that got their files, and Globs the patterns in them. Refused counts the calls that met others,
	// and Unknown those whose outcome stayed unknown.
	Claims, Globs, Refused, Unknown int64
	Kills                           int
	// Beside counts the versions that were refused beside another, and Sleeps the times that a hub slept.
	Beside, Sleeps int
	Violations     []string
	Took           time.Duration
}

// Write prints the report.
func (r *Report) Write(out io.Writer) error {
	_, err := fmt.Fprintf(out, "files on %s: %d claims of %d patterns held, %d refused, %d unknown; %d hubs killed, %d slept; "+
		"%d versions refused beside another; %d double holders and other violations; %.0f s\n", r.Store, r.Claims, r.Globs,
		r.Refused, r.Unknown, r.Kills, r.Sleeps, r.Beside, len(r.Violations), r.Took.Seconds())
	for _, v := range r.Violations[:min(20, len(r.Violations))] {
		_, err = fmt.Fprintln(out, " ", v)
	}
	return err
}

const user = "claims"

// run is the state of a run in progress.
type run struct {
	Options
	fleet    *fleet.Fleet
	later    *fleet.Fleet   // nil without a later version
	proxy    *txproxy.Proxy // nil for SQLite
	balancer *balancer.Balancer
	base     string
	http     *http.Client
	witness  *witness
	report   Report
	tried    atomic.Int64 // patterns
	// emulated is held during calls over the emulator, where transactions that contend for one document wait for each
	// other's locks for seconds: by most calls alone, by some together, so that hubs race.
	emulated sync.RWMutex
}

// Run lets claimers claim files on hubs that are killed and returns the report. An error means that the run could not be
// completed.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	began := time.Now()
	r := &run{Options: o, balancer: balancer.New(), witness: newWitness(),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.Claimers}}}
	r.report.Store = "SQLite"
	defer func() {
		if r.proxy != nil {
			err = errors.Join(err, r.proxy.Close())
		}
	}()
	secrets, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	base, stop, err := r.balancer.Listen(ctx)
	if err != nil {
		return nil, err
	}
	r.base = base
	defer stop()
	defer r.http.CloseIdleConnections()
	defer func() {
		err = errors.Join(err, r.fleet.Close())
		if r.later != nil {
			err = errors.Join(err, r.later.Close())
		}
	}()
	if err := r.claim(ctx, secrets); err != nil {
		return nil, err
	}
	r.report.Violations = append(r.report.Violations, r.witness.violations()...)
	r.report.Took = time.Since(began)
	return &r.report, nil
}

// prepare makes the keys of the claimers in the store, and the fleet of hubs over it.
func (r *run) prepare(ctx context.Context) (secrets []string, err error) {
	env := append([]string{}, r.Env...)
	var d store.Driver
	if r.Project != "" {
		r.report.Store = "Firestore"
		// In the emulator the transactions of a killed hub keep their locks for long; the proxy rolls them back.
		if r.proxy, err = txproxy.New(ctx, r.Emulator); err != nil {
			return nil, err
		}
		env = append(env, "PARLEY_STORE=firestore", "GOOGLE_CLOUD_PROJECT="+r.Project, "FIRESTORE_EMULATOR_HOST="+r.proxy.Addr)
		d, err = firestore.Open(ctx, firestore.Options{Project: r.Project, EmulatorHost: r.Emulator})
	} else {
		data := filepath.Join(r.Dir, "data")
		env = append(env, "PARLEY_DATA="+data)
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		d, err = sqlite.Open(ctx, filepath.Join(data, "parley.db"), app.Schema())
	}
	if err != nil {
		return nil, err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	a := app.New(db, app.Ports{})
	for i := range r.Claimers {
		made, err := a.Keys.Issue(ctx, user, keys.CreateInput{Program: name(i)})
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, made.Key)
	}
	if r.fleet, err = r.newFleet(r.Hub, "hubs", env); err != nil || r.Later == nil || r.Project != "" {
		return secrets, err
	}
	r.later, err = r.newFleet(r.Later, "later", env)
	return secrets, err
}

// newFleet makes a fleet of one version, whose output is in a directory of its own.
func (r *run) newFleet(args []string, name string, env []string) (*fleet.Fleet, error) {
	dir := filepath.Join(r.Dir, name)
	return &fleet.Fleet{Args: append(slices.Clone(args), "--addr", "127.0.0.1:0"), Dir: dir, Env: env},
		os.MkdirAll(filepath.Join(dir, "beside"), 0o700)
}

// name returns the program of a claimer.
func name(i int) string { return fmt.Sprintf("claimer%d", i) }

// claim starts the hubs and lets all claimers claim while hubs are killed.
func (r *run) claim(ctx context.Context, secrets []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	live := make([]*fleet.Hub, 1)
	if r.Project != "" {
		live = make([]*fleet.Hub, 2)
	}
	for i := range live {
		if err := r.start(ctx, r.fleet, &live[i]); err != nil {
			return err
		}
	}
	var claimers sync.WaitGroup
	for i, key := range secrets {
		claimers.Go(func() {
			c, err := r.newClaimer(name(i), key, rand.New(rand.NewPCG(r.Seed, uint64(i))))
			if err == nil {
				err = c.work(ctx)
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		claimers.Wait()
		close(done)
	}()
	err := r.kill(ctx, live, done)
	if err != nil {
		cancel(err)
	}
	<-done
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		return err
	}
	return r.left(ctx, secrets[0])
}
