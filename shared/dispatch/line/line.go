package line

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Lines are the lines of a process, by a key that calls for the same work share. The zero value is ready. It is safe for
// concurrent use.
type Lines struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	waiting []*Place // the first one has the turn
	found   []string // work that was found and is not tried yet
	trying  map[string]bool
	// idle means that the first call has found nothing and follows the changes.
	idle chan struct{} // closed while it is so
}

// Place is the place of one call in a line. Its methods are for the goroutine of that call.
type Place struct {
	lines *Lines
	key   string
	turn  chan struct{} // closed when the call is the first
	// poke is closed when work has come back that the first call did not find.
	poke chan struct{}
}

// Enter adds a call at the end of the line. It must leave with [Place.Leave].
func (l *Lines) Enter(key string) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string]*line{}
	}
	ln := l.lines[key]
	if ln == nil {
		ln = &line{trying: map[string]bool{}, idle: make(chan struct{})}
		l.lines[key] = ln
	}
	p := &Place{lines: l, key: key, turn: make(chan struct{}), poke: make(chan struct{})}
	ln.waiting = append(ln.waiting, p)
	ln.advance()
	return p
}

// advance gives the turn to the first call.
func (ln *line) advance() {
	if len(ln.waiting) == 0 {
		return
	}
	select {
	case <-ln.waiting[0].turn:
	default:
		close(ln.waiting[0].turn)
	}
}

// patience is the time after its deadline for which a call waits for its turn, if those before it have not looked yet:
// there may be work for it too.
const patience = 10 * time.Second

// Turn waits until the call is the first of the line. It returns false if the deadline passes while the first call has
// found no work, or ctx ends or one of the channels is closed.
func (p *Place) Turn(ctx context.Context, deadline time.Time, end, also <-chan struct{}) bool {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	tooLate := time.NewTimer(time.Until(deadline) + patience)
	defer tooLate.Stop()
	var idle <-chan struct{}
	for {
		select {
		case <-p.turn:
			return true
		default:
		}
		select {
		case <-p.turn:
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

func (p *Place) whenIdle() <-chan struct{} {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	return p.lines.lines[p.key].idle
}

// Idle tells those behind that the first call has found no work and follows the changes.
func (p *Place) Idle() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.lines.lines[p.key]
	select {
	case <-ln.idle:
	default:
		close(ln.idle)
	}
}

// Looking tells those behind that the first call looks for work.
func (p *Place) Looking() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.lines.lines[p.key].busy()
}

func (ln *line) busy() {
	select {
	case <-ln.idle:
		ln.idle = make(chan struct{})
	default:
	}
}

// Poked returns a channel that is closed when the first call must look again, because work has come back.
func (p *Place) Poked() <-chan struct{} {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	return p.poke
}

// Found keeps the work that the first call has found, but for what another call tries already. It reports whether there
// is any.
func (p *Place) Found(ids []string) bool {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.lines.lines[p.key]
	for _, id := range ids {
		if !ln.trying[id] && !slices.Contains(ln.found, id) {
			ln.found = append(ln.found, id)
		}
	}
	return len(ln.found) > 0
}

// Take returns the first work that was found, and gives the turn to the next call. It returns false, and keeps the turn,
// if there is none.
func (p *Place) Take() (id string, ok bool) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.lines.lines[p.key]
	if len(ln.found) == 0 {
		return "", false
	}
	id, ln.found = ln.found[0], ln.found[1:]
	ln.trying[id] = true
	ln.remove(p)
	return id, true
}

// remove takes a call out of the line.
func (ln *line) remove(p *Place) {
	if len(ln.waiting) > 0 && ln.waiting[0] == p {
		ln.busy() // the next one has not looked yet
	}
	ln.waiting = slices.DeleteFunc(ln.waiting, func(other *Place) bool { return other == p })
	ln.advance()
}

// Lost puts the call first in line again: another caller has the work, or it may be tried again if back is true.
func (p *Place) Lost(id string, back bool) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.lines.lines[p.key]
	delete(ln.trying, id)
	p.turn, p.poke = make(chan struct{}), make(chan struct{})
	if back {
		ln.found = append(ln.found, id)
	}
	// The call whose turn it is keeps it: it may be looking. This one is the next.
	at := min(1, len(ln.waiting))
	ln.waiting = slices.Insert(ln.waiting, at, p)
	if back {
		close(ln.waiting[0].poke)
		ln.waiting[0].poke = make(chan struct{})
	}
	ln.advance()
}

// Leave takes the call out of the line for good. id is the work that it took, empty if it took none.
func (p *Place) Leave(id string) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	ln := p.lines.lines[p.key]
	delete(ln.trying, id)
	ln.remove(p)
	if len(ln.waiting) == 0 && len(ln.trying) == 0 {
		delete(p.lines.lines, p.key)
	}
}
