package files

import (
	"context"
	"fmt"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
)

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
