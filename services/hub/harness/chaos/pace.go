package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// pace says how long agents go on, and when a hub is killed: by the clock, or by how
// much they have done, which no load of the machine changes.
type pace struct {
	options Options
	began   time.Time
	chance  *rand.Rand // the killer's alone

	mu    sync.Mutex
	steps int
	ended bool
	due   chan struct{} // a kill that is due, where moves are counted
	over  chan struct{} // closed when all agents have ended
}

func newPace(o Options) *pace {
	return &pace{options: o, began: time.Now(), chance: rand.New(rand.NewPCG(o.Seed, 0)), due: make(chan struct{}, o.Kills), over: make(chan struct{})}
}

// more says whether an agent that made so many moves makes another.
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
		p.due <- struct{}{} // there is room for all of them
	}
}

// end says that no agent acts any more.
func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.over)
	}
}

// next waits for the next kill; false says that there is none.
func (p *pace) next(ctx context.Context) bool {
	var clock <-chan time.Time
	if p.options.For > 0 {
		after := p.options.Every/2 + time.Duration(p.chance.Int64N(int64(p.options.Every)))
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

// patient is a context that ends when what was begun has had its time: so long after
// the last new move, where that is by the clock, else so long without any move.
func (p *pace) patient(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if p.options.For > 0 {
		return context.WithDeadlineCause(ctx, p.began.Add(p.options.For+grace), errNever)
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
				cancel(errNever)
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
