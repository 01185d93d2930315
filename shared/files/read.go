package files

import (
	"context"
	"encoding/base64"
	"fmt"
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

// List returns a page of reservations, by project and token: all that hold, those of a project, of a program, or those
// that overlap a path.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Reservations: []View{}}
	from, err := readPosition(in.Cursor)
	if err != nil {
		return out, err
	}
	if in.Path != "" {
		if in.Project == "" {
			return out, fault.Field("project", "is required with path")
		}
		if _, err := glob.Parse(in.Path, false); err != nil {
			return out, fault.Field("path", "%v", err)
		}
	}
	t := s.DB.User(c.User)
	if in.Project != "" {
		project, err := projectOf(in.Project)
		if err != nil {
			return out, err
		}
		b, err := s.read(ctx, t, boardID(project), s.Now())
		if err != nil {
			return out, err
		}
		b.Project = project
		return out, s.page(ctx, t, []*stand{b}, in, from, &out)
	}
	q := store.Query{Order: []string{"project"}, Limit: pageBoards, Where: []store.Cond{store.Ge("project", from.project)}}
	for {
		found, err := boards.Query(ctx, t, q)
		if err != nil {
			return out, err
		}
		stands, err := s.stands(ctx, t, found)
		if err != nil {
			return out, err
		}
		if err := s.page(ctx, t, stands, in, from, &out); err != nil || out.NextCursor != "" || found.Next == "" {
			return out, err
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

// page adds the reservations of some boards to a list until its page is full.
func (s *Service) page(ctx context.Context, r store.Reader, boards []*stand, in ListInput, from position, out *ListOutput) error {
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
		for i := range b.Reservations {
			h := &b.Reservations[i]
			if b.Project == from.project && h.Token <= from.token ||
				in.Program != "" && !identity.Same(in.Program, h.Holder.name()) {
				continue
			}
			if in.Path != "" {
				on, err := b.on(in.Path, h)
				if err != nil {
					return err
				}
				if !on {
					continue
				}
			}
			if len(out.Reservations) == pageSize {
				last := out.Reservations[pageSize-1]
				out.NextCursor = position{last.Project, last.Token}.String()
				return nil
			}
			v := view(b.id, *h)
			v.Project = b.Project
			out.Reservations = append(out.Reservations, v)
		}
	}
	return nil
}

// on reports whether a reservation overlaps a pattern.
func (s *stand) on(text string, h *Reservation) (bool, error) {
	p, err := s.pattern(text)
	if err != nil {
		return false, err
	}
	q, err := s.pattern(h.Pattern)
	if err != nil {
		return false, err
	}
	return s.meet(p, q)
}

// maxBy is the number of reservations that a check lists for a path.
const maxBy = 5

// Check reports for each path whether the caller may edit it: whether it is free, the caller's, or another's. It
// changes nothing.
func (s *Service) Check(ctx context.Context, c identity.Caller, in CheckInput) (CheckOutput, error) {
	project, err := projectOf(in.Project)
	if err != nil {
		return CheckOutput{}, err
	}
	t := s.DB.User(c.User)
	b, err := s.read(ctx, t, boardID(project), s.Now())
	if err != nil {
		return CheckOutput{}, err
	}
	out, err := s.checked(ctx, t, b, holderOf(c, in.SessionID), in.Worktree, in.Paths)
	if err != nil {
		return CheckOutput{}, err
	}
	return CheckOutput{Project: project, Paths: out, Settings: b.settings.view(project)}, nil
}

// paths returns the compiled forms of concrete paths. All that are malformed are told at once.
func (s *stand) paths(texts []string) ([]*glob.Pattern, error) {
	out := make([]*glob.Pattern, len(texts))
	var wrong []fault.Problem
	for i, text := range texts {
		p, err := glob.Path(text, s.settings.IgnoreCase)
		if err != nil {
			wrong = append(wrong, fault.Problem{Path: fmt.Sprintf("paths[%d]", i), Message: err.Error()})
		}
		out[i] = p
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

// check returns the answer for each path, and the reservations of others among them that may have ended.
func (s *stand) check(me Holder, worktree string, paths []*glob.Pattern) (out []Checked, bound []Reservation, err error) {
	held := make([]*glob.Pattern, len(s.Reservations))
	for i := range s.Reservations {
		if held[i], err = s.pattern(s.Reservations[i].Pattern); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range paths {
		a := Checked{Path: p.String(), State: Free}
		var others []*Reservation
		shared := false
		for i := range s.Reservations {
			h := &s.Reservations[i]
			meet, err := s.meet(p, held[i])
			switch {
			case err != nil:
				return nil, nil, err
			case !meet:
			case h.Holder.same(me):
				a.State, shared = Yours, shared || h.Mode == Shared
			case s.apart(h.Worktree, worktree):
				if len(a.Elsewhere) < maxBy {
					a.Elsewhere = append(a.Elsewhere, view(s.id, *h))
				}
			default:
				others = append(others, h)
			}
		}
		for _, h := range others {
			if a.State == Yours && shared && h.Mode == Shared {
				continue // both hold it together
			}
			a.State = Held
			if h.bound() {
				bound = append(bound, *h)
			}
			if len(a.By) < maxBy {
				a.By = append(a.By, view(s.id, *h))
			}
		}
		out = append(out, a)
	}
	return out, bound, nil
}
