package line

import (
	"context"
	"slices"
	"time"
)

// patience is the time after its deadline for which a call waits for its turn, if those before it have not looked yet:
// there may be work for it too.
const patience = 10 * time.Second

// Turn waits until the call is the first of the line or has been given work. It returns false if the deadline passes
// while the first call has found no work, or ctx ends or one of the channels is closed.
func (p *Place[W]) Turn(ctx context.Context, deadline time.Time, end, also <-chan struct{}) bool {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	tooLate := time.NewTimer(time.Until(deadline) + patience)
	defer tooLate.Stop()
	var idle <-chan struct{}
	for {
		select {
		case <-p.turn:
			return true
		case <-p.given:
			return true
		default:
		}
		select {
		case <-p.turn:
			return true
		case <-p.given:
			return true
		case <-late.C:
			idle = p.whenIdle()
		case <-idle:
			return false
		case <-tooLate.C:
			return false
		case <-ctx.Done():
			return false
		case <-end:
			return false
		case <-also:
			return false
		}
	}
}

// line returns the line of the call, nil if the call is in none: it has been given work.
func (p *Place[W]) line() *line[W] {
	ln := p.lines.owners[p.owner].lines[p.key]
	if ln == nil || !slices.Contains(ln.waiting, p) {
		return nil
	}
	return ln
}

func (p *Place[W]) whenIdle() <-chan struct{} {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if ln := p.line(); ln != nil {
		return ln.idle
	}
	return nil
}

// Given returns a channel that is closed when the call is given work, which it takes with [Place.Take].
func (p *Place[W]) Given() <-chan struct{} { return p.given }

// Looking declares that the first call looks for work. From now on it is given none; fits reports whether it may have a
// piece of work when it has looked.
func (p *Place[W]) Looking(fits func(Work[W]) bool) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if ln := p.line(); ln != nil {
		p.fits, ln.gone = fits, nil
		ln.busy()
	}
}

// Idle declares that the first call has found no work and follows the changes: from now on it is given work that
// appears. It returns false if work may have appeared after the look, so that the call must look again.
func (p *Place[W]) Idle() bool {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.line()
	switch {
	case ln == nil:
		return true
	case ln.missed:
		return false
	case !ln.isIdle():
		close(ln.idle)
	}
	return true
}

// Found keeps the work that the first call has found, but for work that another call tries already, or has got since the
// first one began to look. It reports whether the call has work: found or given.
func (p *Place[W]) Found(work []Work[W]) bool {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.line()
	if ln == nil {
		return true
	}
	trying := p.lines.owners[p.owner].trying
	for _, w := range work {
		if !slices.ContainsFunc(ln.found, func(f Work[W]) bool { return f.ID == w.ID }) {
			ln.found = append(ln.found, w)
		}
	}
	ln.found = slices.DeleteFunc(ln.found, func(w Work[W]) bool { _, is := trying[w.ID]; return is || ln.gone[w.ID] })
	return len(ln.found) > 0
}
