package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/fleet"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/fault"
)

// launch starts a hub and adds it to the balancer.
func (r *run) launch(ctx context.Context) error {
	h, err := r.fleet.Start(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.live = append(r.live, h)
	r.mu.Unlock()
	return r.balancer.Add(h.Name, h.URL)
}

// terminateEvery is the number of hubs of which one gets SIGTERM instead of SIGKILL, and one sleeps instead of ending.
const terminateEvery = 4

// asleep is the time for which a hub sleeps. The client has its connections, and no answer on them.
const asleep = 3 * time.Second

// suspend lets a hub sleep and wakes it, also if the run ends meanwhile.
func (r *run) suspend(ctx context.Context) {
	r.mu.Lock()
	h := r.live[r.pace.random.IntN(len(r.live))]
	r.mu.Unlock()
	r.report.Kills["SIGSTOP"]++
	fmt.Fprintf(r.options.Notes, "%6.1fs  %s sleeps\n", time.Since(r.report.Began).Seconds(), h.Name)
	h.Suspend()
	defer h.Resume()
	_ = pause(ctx, asleep) // the caller sees the end of ctx
}

// stall begins an upload to a hub, and does not go on with it, after SIGTERM either.
func (r *run) stall(ctx context.Context, h *fleet.Hub) {
	host := strings.TrimPrefix(h.URL, "http://")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return // the hub has exited, which is told elsewhere
	}
	go func() {
		<-h.Exited()
		_ = conn.Close()
	}()
	_, err = fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", host, r.crews[0].agents[0].call.Key)
	if err == nil {
		r.report.Stalled++
	}
}

// kill ends a hub each time that a kill is due and starts a replacement. Some hubs sleep for a while instead, and one that
// gets SIGTERM has an upload that does not go on.
func (r *run) kill(ctx context.Context) error {
	var dying sync.WaitGroup // after SIGTERM a hub finishes its calls
	defer dying.Wait()
	for n := 0; r.pace.next(ctx); n++ {
		if n%terminateEvery == 3 {
			r.suspend(ctx)
			continue
		}
		r.mu.Lock()
		i := r.pace.random.IntN(len(r.live))
		h := r.live[i]
		r.live = append(r.live[:i:i], r.live[i+1:]...)
		r.mu.Unlock()
		how, end := "SIGKILL", h.Kill
		if n%terminateEvery == 1 {
			how, end = "SIGTERM", func() { r.stall(ctx, h); h.Terminate() }
		}
		r.report.Kills[how]++
		fmt.Fprintf(r.options.Notes, "%6.1fs  %s gets %s\n", time.Since(r.report.Began).Seconds(), h.Name, how)
		select {
		case <-h.Exited():
			if err := h.Fault(); err != nil {
				r.report.violate(witness.Clean, "%v", err) // it exited before the signal
			}
		default:
			end()
		}
		if err := r.launch(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		r.report.Restarts++
		dying.Go(func() { r.awaitEnd(ctx, h) })
	}
	return nil
}

// awaitEnd waits for the end of a hub and then removes it from the balancer, which by then has found out by itself.
func (r *run) awaitEnd(ctx context.Context, h *fleet.Hub) {
	select {
	case <-h.Exited():
	case <-ctx.Done():
	}
	r.balancer.Remove(h.Name)
}

// sweep runs all sweeps at the interval SweepEvery until ctx ends, as Cloud Scheduler and the functions do.
func (r *run) sweep(ctx context.Context) {
	tick := time.NewTicker(r.options.SweepEvery)
	defer tick.Stop()
	for {
		for _, s := range r.app.Sweeps() {
			report, err := s.Run(ctx, r.admin)
			r.report.countSwept(report.Handled)
			for _, e := range unjoin(err) {
				if ctx.Err() == nil && !fault.Is(e, fault.Conflict) && !fault.Is(e, fault.Unavailable) {
					r.report.violate(witness.Clean, "the sweep %s: %v", s.Name, e)
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// unjoin returns the errors that were joined into err.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, unjoin(e)...)
	}
	return out
}
