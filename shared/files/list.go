package files

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// pageSize is the number of reservations in a page of a list, and pageBoards that of the boards that are read for it at
// once.
const (
	pageSize   = 100
	pageBoards = 5
)

// position is where the next page of a list begins: after a token of a project.
type position struct {
	project string
	token   int64
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.token, 10) + "/" + p.project))
}

func readPosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		token, project, _ := strings.Cut(string(b), "/")
		p.project = project
		p.token, err = strconv.ParseInt(token, 10, 64)
	}
	if err != nil || p.project == "" {
		return p, fault.Field("cursor", "is not one of this call; use the one that came with the page before")
	}
	return p, nil
}

// lister collects a page of a list.
type lister struct {
	in   ListInput
	out  ListOutput
	from position
	// at is the end of the page so far.
	at position
}

// List returns a page of reservations, by project and token: all that hold, those of a project, of a program, or those
// that overlap a path. With them are the calls that wait in those projects, each in the page where its project begins.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	l := lister{in: in, out: ListOutput{Reservations: []View{}}}
	var err error
	if l.from, err = readPosition(in.Cursor); err != nil {
		return l.out, err
	}
	if in.Path != "" {
		if in.Project == "" {
			return l.out, fault.Field("project", "is required with path")
		}
		if _, err := glob.Parse(in.Path, false); err != nil {
			return l.out, fault.Field("path", "%v", err)
		}
	}
	if in.Project != "" {
		if l.in.Project, err = projectOf(in.Project); err != nil {
			return l.out, err
		}
	}
	t := s.DB.User(c.User)
	if err := s.fill(ctx, t, &l); err != nil || !in.Recent || in.Cursor != "" {
		return l.out, err
	}
	l.out.Recent, l.out.RecentMore, err = s.recent(ctx, t, l.in)
	return l.out, err
}

// fill reads the boards of a list until its page is full.
func (s *Service) fill(ctx context.Context, t *store.Tenant, l *lister) error {
	if l.in.Project != "" {
		b, err := s.read(ctx, t, boardID(l.in.Project), s.Now())
		if err != nil {
			return err
		}
		b.Project = l.in.Project
		return s.page(ctx, t, []*stand{b}, l)
	}
	q := store.Query{Order: []string{"project"}, Limit: pageBoards, Where: []store.Cond{store.Ge("project", l.from.project)}}
	for {
		found, err := boards.Query(ctx, t, q)
		if err != nil {
			return err
		}
		stands, err := s.stands(ctx, t, found)
		if err != nil {
			return err
		}
		if err := s.page(ctx, t, stands, l); err != nil || l.out.NextCursor != "" || found.Next == "" {
			return err
		}
		q.Cursor = found.Next
	}
}

// stands returns the stands of boards that a query found.
func (s *Service) stands(ctx context.Context, r store.Reader, found store.Page[Board]) ([]*stand, error) {
	now, later := s.Now(), make([]Renewals, len(found.Docs))
	fetches := make([]*store.Fetch, len(found.Docs))
	for i, d := range found.Docs {
		fetches[i] = renewals.Fetch(d.ID, &later[i])
	}
	if len(fetches) == 0 {
		return nil, nil
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	out := make([]*stand, len(found.Docs))
	for i, d := range found.Docs {
		var err error
		if out[i], err = open(d.Value, later[i].Later, Settings{}, d.ID, now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// page adds the reservations and the waits of some boards to a list until its page is full.
func (s *Service) page(ctx context.Context, r store.Reader, boards []*stand, l *lister) error {
	for _, b := range boards {
		var bound []Reservation
		for i := range b.Reservations {
			if b.Reservations[i].bound() {
				bound = append(bound, b.Reservations[i])
			}
		}
		if _, err := s.prune(ctx, r, b, bound); err != nil {
			return err
		}
		if err := l.add(b); err != nil || l.out.NextCursor != "" {
			return err
		}
	}
	return nil
}

// add adds a board until the page is full.
func (l *lister) add(b *stand) error {
	begun := b.Project == l.from.project
	begin := func() (err error) {
		if begun {
			return nil
		}
		begun = true
		l.out.Waiting, err = b.waits(l.out.Waiting, l.in)
		return err
	}
	// A reservation that became exclusive has a higher token than those behind it.
	slices.SortFunc(b.Reservations, func(x, y Reservation) int { return cmp.Compare(x.Token, y.Token) })
	for i := range b.Reservations {
		h := &b.Reservations[i]
		if b.Project == l.from.project && h.Token <= l.from.token {
			continue
		}
		if is, err := b.matches(l.in, h.Holder, h.Pattern); err != nil || !is {
			if err != nil {
				return err
			}
			continue
		}
		if len(l.out.Reservations) == pageSize {
			l.out.NextCursor = l.at.String()
			return nil
		}
		if err := begin(); err != nil {
			return err
		}
		v := view(b.id, *h)
		v.Project = b.Project
		l.out.Reservations, l.at = append(l.out.Reservations, v), position{b.Project, h.Token}
	}
	l.at = position{b.Project, b.Token}
	return begin()
}

// maxPatterns is the number of patterns that a list has of a call that waits.
const maxPatterns = 5

// waits appends the board's calls that wait, in the order of their turns, to a list for an input.
func (s *stand) waits(list []WaitView, in ListInput) ([]WaitView, error) {
	for i := range s.Waiters {
		w := &s.Waiters[i]
		is, err := s.matches(in, w.Holder, w.Patterns...)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		n := min(len(w.Patterns), maxPatterns)
		list = append(list, WaitView{Project: s.Project, Patterns: w.Patterns[:n], More: len(w.Patterns) - n, Mode: w.Mode,
			Holder: w.Holder.name(), SessionID: w.Holder.Session, Worktree: w.Worktree, Since: w.Since, Until: w.Until})
	}
	return list, nil
}

// matches reports whether the patterns of a holder belong into a list for an input.
func (s *stand) matches(in ListInput, of Holder, patterns ...string) (bool, error) {
	if in.Program != "" && !identity.Same(in.Program, of.name()) {
		return false, nil
	}
	if in.Path == "" {
		return true, nil
	}
	p, err := s.pattern(in.Path)
	if err != nil {
		return false, err
	}
	for _, text := range patterns {
		q, err := s.pattern(text)
		if err != nil {
			return false, err
		}
		if meet, err := s.meet(p, q); err != nil || meet {
			return meet, err
		}
	}
	return false, nil
}
