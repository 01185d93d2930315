package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// pace decides when agents stop and when a hub is killed: by the clock, or by the number of moves, which does not
// depend on the load of the machine. It is safe for concurrent use, except that next has a single caller.
type pace struct {
	options Options
	began   time.Time
	random  *rand.Rand // used only by the goroutine that kills hubs

	mu    sync.Mutex
	steps int
	ended bool
	due   chan struct{} // a value for each kill that is due by the number of moves
	over  chan struct{} // closed when all agents have ended
}

func newPace(o Options) *pace {
	return &pace{options: o, began: time.Now(), random: rand.New(rand.NewPCG(o.Seed, 0)),
		due: make(chan struct{}, o.Kills), over: make(chan struct{})}
}

// more reports whether an agent that has made the given number of moves makes another one.
func (p *pace) more(done int) bool {
	if p.options.For == 0 {
		return done < p.options.Moves
	}
	return time.Since(p.began) < p.options.For || done < len(moves)
}

// step counts a move.
func (p *pace) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps++
	if p.options.For > 0 {
		return
	}
	all, kills := p.options.Agents*p.options.Moves, p.options.Kills
	if p.steps*(kills+1)/all > (p.steps-1)*(kills+1)/all && p.steps < all {
		p.due <- struct{}{} // never blocks: the buffer holds all kills
	}
}

// end records that no agent acts any more.
func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.over)
	}
}

// next waits until the next kill is due. It returns false if there is no further one.
func (p *pace) next(ctx context.Context) bool {
	var clock <-chan time.Time
	if p.options.For > 0 {
		after := p.options.Every/2 + time.Duration(p.random.Int64N(int64(p.options.Every)))
		if time.Since(p.began)+after > p.options.For {
			return false
		}
		timer := time.NewTimer(after)
		defer timer.Stop()
		clock = timer.C
	}
	select {
	case <-clock:
		return true
	case <-p.due:
		return true
	default:
	}
	select {
	case <-clock:
		return true
	case <-p.due:
		return true
	case <-p.over:
		return false
	case <-ctx.Done():
		return false
	}
}

// withGrace returns a context that ends with errNoProgress when the grace period is over. By the clock, the period
// begins with the last new move; otherwise it begins anew with each move.
func (p *pace) withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if p.options.For > 0 {
		return context.WithDeadlineCause(ctx, p.began.Add(p.options.For+grace), errNoProgress)
	}
	out, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(grace)
		defer tick.Stop()
		for before := -1; ; {
			p.mu.Lock()
			now := p.steps
			p.mu.Unlock()
			if now == before {
				cancel(errNoProgress)
				return
			}
			before = now
			select {
			case <-tick.C:
			case <-out.Done():
				return
			}
		}
	}()
	return out, func() {
		cancel(nil)
		<-done
	}
}
