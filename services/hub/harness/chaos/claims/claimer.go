package claims

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/fault"
	reservations "parley.internal/shared/files"
	"parley.internal/shared/sleep"
)

const project = "github.com/acme/claims"

// racing is the number of calls over the emulator of which one may race with others like it.
const racing = 8

// claimer is an agent that claims files, holds them for a moment and releases them.
type claimer struct {
	*run
	*client.Client
	name   string
	random *rand.Rand
}

func (r *run) newClaimer(name, key string, random *rand.Rand) (*claimer, error) {
	c, err := client.New(r.base, key, client.WithHTTPClient(r.http), client.WithUserAgent("parley-claims"),
		client.WithRetry(client.Retry{Attempts: 100, First: 20 * time.Millisecond, Longest: 500 * time.Millisecond}))
	return &claimer{run: r, Client: c, name: name, random: random}, err
}

// work claims as many patterns as the options say, in claims of one to three.
func (c *claimer) work(ctx context.Context) error {
	for left := c.Globs; left > 0; {
		ps := make([]pattern, min(left, 1+c.random.IntN(3)))
		for i := range ps {
			ps[i] = choose(c.random)
		}
		left -= len(ps)
		if err := c.once(ctx, ps); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		c.tried.Add(int64(len(ps)))
	}
	return nil
}

// once claims patterns, and releases them if it got them or does not know.
func (c *claimer) once(ctx context.Context, ps []pattern) error {
	in := reservations.ReserveInput{Project: project, Paths: texts(ps), Mode: reservations.Exclusive, LeaseSeconds: 3600}
	if c.random.IntN(4) == 0 {
		in.Mode = reservations.Shared
	}
	if c.Project == "" && c.random.IntN(8) == 0 { // over the emulator a wait would keep others from their turns
		in.WaitMs = 1 + c.random.IntN(100)
	}
	var out reservations.ReserveOutput
	err := c.turn(func() (err error) {
		out, err = c.ReserveFiles(ctx, in)
		return err
	})
	var e *client.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case fault.Is(err, fault.Precondition):
		atomic.AddInt64(&c.report.Refused, 1)
		return nil
	case errors.As(err, &e) && (e.Uncertain || e.Fault.Kind == fault.Unavailable || e.Fault.Kind == fault.Conflict):
		atomic.AddInt64(&c.report.Unknown, 1)
		return c.release(ctx)
	default:
		return err
	}
	h := &hold{claimer: c.name, shared: in.Mode == reservations.Shared, patterns: ps}
	for i, v := range out.Reservations {
		if h.highest = max(h.highest, v.Token); i == 0 || v.Token < h.token {
			h.token = v.Token
		}
	}
	c.witness.begins(h)
	atomic.AddInt64(&c.report.Claims, 1)
	atomic.AddInt64(&c.report.Globs, int64(len(ps)))
	_ = sleep.For(ctx, time.Duration(c.random.IntN(10))*time.Millisecond) // the release sees the end of ctx
	c.witness.ends(h)
	return c.release(ctx)
}

// turn makes a call, over the emulator when it is its turn.
func (c *claimer) turn(call func() error) error {
	switch {
	case c.Project == "":
	case c.random.IntN(racing) == 0:
		c.emulated.RLock()
		defer c.emulated.RUnlock()
	default:
		c.emulated.Lock()
		defer c.emulated.Unlock()
	}
	return call()
}

// release gives up all that the claimer holds, however often it takes.
func (c *claimer) release(ctx context.Context) error {
	for {
		err := c.turn(func() error {
			_, err := c.ReleaseFiles(ctx, reservations.ReleaseInput{Project: project})
			return err
		})
		var e *client.Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &e) && (e.Uncertain || e.Fault.Kind == fault.Unavailable || e.Fault.Kind == fault.Conflict):
			if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
				return context.Cause(ctx)
			}
		default:
			return err
		}
	}
}

// left reports reservations that are there although every claimer has released its own.
func (r *run) left(ctx context.Context, key string) error {
	c, err := r.newClaimer("the end", key, nil)
	if err != nil {
		return err
	}
	out, err := c.ListReservations(ctx, reservations.ListInput{Project: project})
	for _, v := range out.Reservations {
		r.report.Violations = append(r.report.Violations, fmt.Sprintf("%s still holds %s after its release", v.Holder, v.Pattern))
	}
	return err
}
