package line

import (
	"slices"
	"sync"
)

// Lines are the lines of a process, of calls that wait for work of the type W. The zero value is ready. It is safe for
// concurrent use.
type Lines[W any] struct {
	mu     sync.Mutex
	owners map[string]*owner[W]
}

// owner holds the lines of the calls that wait for work of one owner.
type owner[W any] struct {
	lines map[string]*line[W]
	// trying has the ids of the work that calls have taken or were given, each with its last offer meanwhile, or nil.
	trying  map[string]*Work[W]
	arrived uint64 // the number of calls that have come
}

type line[W any] struct {
	waiting []*Place[W] // the first one has the turn
	found   []Work[W]   // work that was found and is not tried yet
	// idle means that the first call has found nothing and follows the changes.
	idle chan struct{} // closed while it is so
	// missed means that work was offered while the first call was looking.
	missed bool
	// gone has the ids of the work that calls have got since the first call began to look. The look may have seen it before.
	gone map[string]bool
}

// Work is one piece of work.
type Work[W any] struct {
	ID    string
	Value W
}

// Place is the place of one call in a line. Its methods are for the goroutine of that call.
type Place[W any] struct {
	lines      *Lines[W]
	owner, key string
	number     uint64 // in the order of arrival
	fits       func(Work[W]) bool
	turn       chan struct{} // closed when the call is the first
	given      chan struct{} // closed when the call has been given work
	work       *Work[W]      // that was given and is not taken yet
}

// Enter adds a call at the end of the line with the key. Calls of an owner with the same key look for the same work;
// fits reports whether this call may have a piece of work, and is called under a lock, by any goroutine. The call must
// leave with [Place.Leave].
func (l *Lines[W]) Enter(of, key string, fits func(Work[W]) bool) *Place[W] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners == nil {
		l.owners = map[string]*owner[W]{}
	}
	o := l.owners[of]
	if o == nil {
		o = &owner[W]{lines: map[string]*line[W]{}, trying: map[string]*Work[W]{}}
		l.owners[of] = o
	}
	o.arrived++
	p := &Place[W]{lines: l, owner: of, key: key, number: o.arrived, fits: fits}
	p.wait(o)
	return p
}

// wait puts a call into its line: behind those that came before it, but the call whose turn it is keeps it, because it may
// be looking.
func (p *Place[W]) wait(o *owner[W]) {
	p.turn, p.given, p.work = make(chan struct{}), make(chan struct{}), nil
	ln := o.lines[p.key]
	if ln == nil {
		ln = &line[W]{idle: make(chan struct{})}
		o.lines[p.key] = ln
	}
	at := len(ln.waiting)
	for at > 1 && ln.waiting[at-1].number > p.number {
		at--
	}
	ln.waiting = slices.Insert(ln.waiting, at, p)
	ln.advance()
}

// advance gives the turn to the first call.
func (ln *line[W]) advance() {
	if len(ln.waiting) == 0 {
		return
	}
	select {
	case <-ln.waiting[0].turn:
	default:
		close(ln.waiting[0].turn)
	}
}

// remove takes a call out of its line, and forgets a line that is empty.
func (o *owner[W]) remove(p *Place[W]) {
	ln := o.lines[p.key]
	if ln == nil {
		return
	}
	if len(ln.waiting) > 0 && ln.waiting[0] == p {
		ln.busy() // the next one has not looked yet
	}
	ln.waiting = slices.DeleteFunc(ln.waiting, func(other *Place[W]) bool { return other == p })
	if len(ln.waiting) == 0 {
		delete(o.lines, p.key)
	}
	ln.advance()
}

func (ln *line[W]) busy() {
	ln.missed = false
	if ln.isIdle() {
		ln.idle = make(chan struct{})
	}
}

func (ln *line[W]) isIdle() bool {
	select {
	case <-ln.idle:
		return true
	default:
		return false
	}
}

// Offer gives work that has appeared, or has come back, to the call that came first of those that wait for it.
func (l *Lines[W]) Offer(of string, w Work[W]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.owners[of]; o != nil {
		o.offer(w, nil)
	}
}

// offer gives work to the first call that has looked in vain and may have it, except one. If there is none, those that
// are looking and may have it look again.
func (o *owner[W]) offer(w Work[W], except *Place[W]) {
	if _, is := o.trying[w.ID]; is {
		o.trying[w.ID] = &w
		return
	}
	var first *Place[W]
	for _, ln := range o.lines {
		p := ln.waiting[0]
		if p == except || ln.isIdle() && first != nil && first.number < p.number || !p.fits(w) {
			continue
		}
		if ln.isIdle() {
			first = p
		} else {
			ln.missed = true
		}
	}
	if first == nil {
		return
	}
	o.trying[w.ID] = nil
	o.remove(first)
	first.work = &w
	close(first.given)
}

// Take returns the work that the call was given, or the first that was found, and gives the turn to the next call. It
// returns false, and keeps the turn, if there is none.
func (p *Place[W]) Take() (w Work[W], ok bool) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	o := p.lines.owners[p.owner]
	if p.work != nil {
		w, p.work = *p.work, nil
		return w, true
	}
	ln := o.lines[p.key]
	for len(ln.found) > 0 {
		w, ln.found = ln.found[0], ln.found[1:]
		if _, is := o.trying[w.ID]; !is {
			o.trying[w.ID] = nil
			o.remove(p)
			return w, true
		}
	}
	return Work[W]{}, false
}

// untry records that work is no longer tried. If it was offered again meanwhile, it is offered now.
func (o *owner[W]) untry(id string) {
	again := o.trying[id]
	delete(o.trying, id)
	if again != nil {
		o.offer(*again, nil)
	}
}

// got records that a call has got work, so that no call tries it because of an earlier look.
func (o *owner[W]) got(id string) {
	for _, ln := range o.lines {
		ln.found = slices.DeleteFunc(ln.found, func(w Work[W]) bool { return w.ID == id })
		if ln.isIdle() {
			continue // the next look begins later
		}
		if ln.gone == nil {
			ln.gone = map[string]bool{}
		}
		ln.gone[id] = true
	}
}

// Others are the calls that may have the work that a call has lost.
type Others int

// The values of Others.
const (
	Nobody    Others = iota // it is gone
	OnlyOther               // any call but this one
	Anybody
)

// Lost puts the call into its line again, before those that came later: it did not get the work that it took. Those who may
// have it are offered it.
func (p *Place[W]) Lost(w Work[W], to Others) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	o := p.lines.owners[p.owner]
	p.wait(o)
	o.untry(w.ID)
	switch to {
	case OnlyOther:
		o.offer(w, p)
	case Anybody:
		o.offer(w, nil)
	}
}

// Leave takes the call out of the line for good. id is the work that it took and got, empty if it got none.
func (p *Place[W]) Leave(id string) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	o := p.lines.owners[p.owner]
	o.remove(p)
	if id != "" {
		o.got(id)
	}
	o.untry(id)
	if w := p.work; w != nil {
		p.work = nil
		o.untry(w.ID)
		o.offer(*w, nil)
	}
	if len(o.lines) == 0 && len(o.trying) == 0 {
		delete(p.lines.owners, p.owner)
	}
}
