package files

import (
	"cmp"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
)

// maxSteps bounds the work of one call's comparisons to some 25 ms, because no other call writes meanwhile.
const maxSteps = 5_000_000

// stand is a board as it is at a time.
type stand struct {
	Board
	id       string
	settings Settings
	now      time.Time
	// renewed means that there are renewals to merge into the document.
	renewed  bool
	compiled *compiled
	steps    glob.Steps
}

// request is the reservation that a call asks for.
type request struct {
	holder   Holder
	mode     Mode
	patterns []string
	reason   string
	taskID   string
	worktree string
	branch   string
	lease    int
}

// conflict is a path of a request, with the reservation or the waiter that it overlaps.
type conflict struct {
	path int
	// held is the reservation, or else turn the waiter, that the path overlaps.
	held *Reservation
	turn *Waiter
}

// open makes a stand of the documents of a project: later ends are merged, and ended reservations and turns are left
// out.
func open(b Board, later []Renewal, settings Settings, id string, now time.Time) (*stand, error) {
	if err := b.unpack(); err != nil {
		return nil, err
	}
	s := &stand{Board: b, id: id, settings: settings, now: now, renewed: len(later) > 0,
		compiled: &compiled{}, steps: maxSteps}
	ends := make(map[int64]time.Time, len(later))
	for _, l := range later {
		ends[l.Token] = l.Until
	}
	for i := range s.Reservations {
		if end := ends[s.Reservations[i].Token]; end.After(s.Reservations[i].Until) {
			s.Reservations[i].Until = end
		}
	}
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool { return !now.Before(r.Until) })
	s.Waiters = slices.DeleteFunc(s.Waiters, func(w Waiter) bool { return !now.Before(w.Until) })
	return s, nil
}

// pattern returns a pattern of the board or of a request.
func (s *stand) pattern(text string) (*glob.Pattern, error) {
	return s.compiled.pattern(text, s.settings.IgnoreCase)
}

// meet reports whether two patterns overlap. Patterns too complex to compare are Invalid.
func (s *stand) meet(p, q *glob.Pattern) (bool, error) {
	meet, err := glob.Overlap(p, q, &s.steps)
	if err != nil {
		return false, fault.Field("paths", "%v", err)
	}
	return meet, nil
}

// apart reports whether two worktrees are known to differ and may be reserved side by side.
func (s *stand) apart(a, b string) bool {
	return !s.settings.RefuseWorktrees && a != "" && b != "" && a != b
}

// own returns the holder's own reservation of exactly this pattern, nil if there is none.
func (s *stand) own(r *request, pattern string) *Reservation {
	for i := range s.Reservations {
		h := &s.Reservations[i]
		if h.Pattern == pattern && h.Worktree == r.worktree && h.Holder.same(r.holder) {
			return h
		}
	}
	return nil
}

// covers reports whether a reservation is as strong as the mode.
func (r *Reservation) covers(m Mode) bool { return r.Mode == Exclusive || m == Shared }

// conflicts returns the reservations and waiters that conflict with a request, and those that it overlaps in other
// worktrees. turn is the request's own place among the waiters, -1 without one: those before it go first.
func (s *stand) conflicts(r *request, turn int) (against, beside []conflict, err error) {
	held := make([]*glob.Pattern, len(s.Reservations))
	for i := range s.Reservations {
		if held[i], err = s.pattern(s.Reservations[i].Pattern); err != nil {
			return nil, nil, err
		}
	}
	for n, text := range r.patterns {
		p, err := s.pattern(text)
		if err != nil {
			return nil, nil, err
		}
		for i := range s.Reservations {
			h := &s.Reservations[i]
			if (h.Mode == Shared && r.mode == Shared) || h.Holder.same(r.holder) {
				continue
			}
			meet, err := s.meet(p, held[i])
			if err != nil {
				return nil, nil, err
			}
			switch {
			case !meet:
			case s.apart(h.Worktree, r.worktree):
				beside = append(beside, conflict{path: n, held: new(*h)})
			default:
				against = append(against, conflict{path: n, held: new(*h)})
			}
		}
		w, err := s.before(r, text, p, turn)
		if err != nil {
			return nil, nil, err
		}
		if w != nil {
			against = append(against, conflict{path: n, turn: new(*w)})
		}
	}
	return against, beside, nil
}

// before returns the first waiter whose turn comes before that of the request, and which the pattern conflicts with. A
// holder may extend its own reservation before anybody's turn.
func (s *stand) before(r *request, text string, p *glob.Pattern, turn int) (*Waiter, error) {
	if h := s.own(r, text); h != nil && h.covers(r.mode) {
		return nil, nil
	}
	if turn < 0 {
		turn = len(s.Waiters)
	}
	for i := range s.Waiters[:turn] {
		w := &s.Waiters[i]
		if (w.Mode == Shared && r.mode == Shared) || w.Holder.same(r.holder) || s.apart(w.Worktree, r.worktree) {
			continue
		}
		for _, t := range w.Patterns {
			q, err := s.pattern(t)
			if err != nil {
				return nil, err
			}
			meet, err := s.meet(p, q)
			if err != nil {
				return nil, err
			}
			if meet {
				return w, nil
			}
		}
	}
	return nil, nil
}

// turn returns the place of a request among the waiters, -1 without one.
func (s *stand) turn(r *request) int {
	return slices.IndexFunc(s.Waiters, func(w Waiter) bool {
		return w.Mode == r.mode && w.Worktree == r.worktree && w.Holder.same(r.holder) &&
			slices.Equal(w.Patterns, r.patterns)
	})
}

// take reserves all patterns of a request that has no conflicts, and ends its wait. It returns the tokens, in the order of
// the patterns, and the number of those that are new. The holder's own reservation of the same pattern is extended; where
// it was weaker, it becomes exclusive under a new token. A full board is Exhausted.
func (s *stand) take(r *request) (tokens []int64, fresh int, err error) {
	if i := s.turn(r); i >= 0 {
		s.Waiters = slices.Delete(s.Waiters, i, i+1)
	}
	until := s.now.Add(time.Duration(r.lease) * time.Second)
	for _, p := range r.patterns {
		h := s.own(r, p)
		if h == nil {
			s.Reservations = append(s.Reservations,
				Reservation{Pattern: p, Mode: r.mode, Holder: r.holder, Worktree: r.worktree, Since: s.now})
			h = &s.Reservations[len(s.Reservations)-1]
		}
		if h.Token == 0 || !h.covers(r.mode) {
			s.Token++
			h.Token, h.Mode = s.Token, r.mode
			fresh++
		}
		h.Reason, h.TaskID = cmp.Or(r.reason, h.Reason), cmp.Or(r.taskID, h.TaskID)
		h.Branch = cmp.Or(r.branch, h.Branch)
		if until.After(h.Until) {
			h.Until, h.Lease = until, r.lease
		}
		tokens = append(tokens, h.Token)
	}
	return tokens, fresh, s.fits()
}

// fits returns Exhausted if the board is full.
func (s *stand) fits() error {
	if n := len(s.Reservations); n > MaxReservations {
		return fault.New(fault.Exhausted, "the project would have %d reservations, and may have %d: release some, or "+
			"reserve directories in place of their files", n, MaxReservations)
	}
	if n := len(s.Waiters); n > maxWaiters {
		return fault.New(fault.Exhausted, "%d calls wait for their turn already; repeat the call later", n-1).After(Grace)
	}
	size := 0
	for i := range s.Reservations {
		size += s.Reservations[i].bytes()
	}
	for i := range s.Waiters {
		size += s.Waiters[i].bytes()
	}
	if size > maxBytes {
		return fault.New(fault.Exhausted, "the texts of the project's reservations would have %d bytes, and may have %d: "+
			"release some, or give shorter patterns and reasons", size, maxBytes)
	}
	return nil
}

// queue gives a request a turn behind all others, or keeps the one that it has.
func (s *stand) queue(r *request, until time.Time) error {
	if i := s.turn(r); i >= 0 {
		s.Waiters[i].Until = until
		return nil
	}
	s.Waiters = append(s.Waiters, Waiter{Holder: r.holder, Mode: r.mode, Patterns: r.patterns, Worktree: r.worktree,
		Since: s.now, Until: until})
	return s.fits()
}

// remove ends the reservations that a function selects and returns them.
func (s *stand) remove(which func(*Reservation) bool) (ended []Reservation) {
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool {
		gone := which(&r)
		if gone {
			ended = append(ended, r)
		}
		return gone
	})
	return ended
}

// find returns the reservation with a token, nil if there is none.
func (s *stand) find(token int64) *Reservation {
	for i := range s.Reservations {
		if s.Reservations[i].Token == token {
			return &s.Reservations[i]
		}
	}
	return nil
}

// close returns the document to store.
func (s *stand) close() Board {
	b := s.Board
	b.UpdatedAt, b.DueAt, b.PurgeAt = s.now, s.nextEnd(), s.now.Add(Retention)
	b.pack()
	return b
}

// nextEnd returns the first time at which a reservation or a turn ends, zero if there are none.
func (s *stand) nextEnd() (end time.Time) {
	sooner := func(t time.Time) {
		if end.IsZero() || t.Before(end) {
			end = t
		}
	}
	for i := range s.Reservations {
		sooner(s.Reservations[i].Until)
	}
	for i := range s.Waiters {
		sooner(s.Waiters[i].Until)
	}
	return end
}
