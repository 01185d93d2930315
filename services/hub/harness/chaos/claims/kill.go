package claims

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/shared/sleep"
)

// start starts a hub and adds it to the balancer.
func (r *run) start(ctx context.Context, f *fleet.Fleet, h **fleet.Hub) (err error) {
	if *h, err = f.Start(ctx); err != nil {
		return err
	}
	return r.balancer.Add((*h).Name+" of "+f.Dir, (*h).URL)
}

// kill kills hubs at even distances of patterns and starts others, until all claimers are done. Of two versions it starts
// the one that did not run. A hub sleeps in the middle.
func (r *run) kill(ctx context.Context, live []*fleet.Hub, done <-chan struct{}) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	all := int64(r.Claimers * r.Globs)
	runs, rests := r.fleet, r.later
	for n := 1; n <= r.Kills; {
		select {
		case <-tick.C:
		case <-done:
			return nil
		}
		if r.tried.Load() < all*int64(n)/int64(r.Kills+1) {
			continue
		}
		h := &live[n%len(live)]
		if n++; n == r.Kills/2+1 {
			r.suspend(ctx, *h)
		}
		if rests != nil {
			r.refused(ctx, rests)
		}
		r.note("%s gets SIGKILL", (*h).Name)
		(*h).Kill()
		<-(*h).Exited()
		r.balancer.Remove((*h).Name + " of " + runs.Dir)
		r.report.Kills++
		if rests != nil {
			runs, rests = rests, runs
		}
		if err := r.start(ctx, runs, h); err != nil {
			return err
		}
	}
	<-done
	return nil
}

func (r *run) note(format string, args ...any) {
	fmt.Fprintf(r.Notes, "files on %s: %s\n", r.report.Store, fmt.Sprintf(format, args...))
}

// suspend lets a hub sleep for the time of the options.
func (r *run) suspend(ctx context.Context, h *fleet.Hub) {
	if r.Asleep == 0 {
		return
	}
	r.note("%s sleeps for %v", h.Name, r.Asleep)
	h.Suspend()
	defer h.Resume()
	_ = sleep.For(ctx, r.Asleep) // the caller sees the end of ctx
	r.report.Sleeps++
}

// refused starts a hub of the version that does not run, beside the one that does, and reports it if it serves, or does
// not say where the other one listens.
func (r *run) refused(ctx context.Context, f *fleet.Fleet) {
	beside := &fleet.Fleet{Args: f.Args, Env: f.Env, Dir: filepath.Join(f.Dir, "beside")} // its failure is no fault of f
	h, err := beside.Start(ctx)
	switch {
	case err == nil:
		r.violate("two versions of the program serve on one directory")
		h.Kill()
		<-h.Exited()
	case ctx.Err() != nil:
	case !strings.Contains(err.Error(), "it listens at http://127.0.0.1:"):
		r.violate("a version beside another: %v", err)
	default:
		r.report.Beside++
	}
}

func (r *run) violate(format string, args ...any) {
	r.report.Violations = append(r.report.Violations, fmt.Sprintf(format, args...))
}
