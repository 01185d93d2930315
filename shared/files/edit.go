package files

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Edit is a change of concrete files by a session, as its client's hook sees it.
type Edit struct {
	Project, Worktree, Branch string
	Paths                     []string
	SessionID                 string
}

// Edited is the decision about an edit.
type Edited struct {
	Judgement
	Settings Settings
	// Reserved means that the session holds the files now because the project reserves files that are edited.
	Reserved bool
}

// autoLease is the lease of a reservation that an edit makes, in seconds.
const autoLease = 1800

// Decide decides about an edit that has not happened yet. Where the project says so, the files are reserved for the
// session if they are free, or the lease of its own reservations of them is renewed.
func (s *Service) Decide(ctx context.Context, c identity.Caller, e Edit) (Edited, error) {
	b, project, checked, strange, err := s.checkEdit(ctx, c, e)
	if err != nil {
		return Edited{}, err
	}
	out := Edited{Judgement: Judge(checked, strange), Settings: b.settings.view(project)}
	if out.Verdict == Deny || !b.settings.Auto {
		return out, nil
	}
	want := b.toReserve(e, holderOf(c, e.SessionID), checked)
	if want == nil {
		return out, nil
	}
	if len(want) == 0 {
		out.Reserved = true
		return out, nil
	}
	_, err = s.Reserve(ctx, c, ReserveInput{Paths: want, Project: project, Mode: Exclusive, LeaseSeconds: autoLease,
		Reason: "edits it", Worktree: e.Worktree, Branch: e.Branch, SessionID: e.SessionID})
	var f *fault.Error
	switch {
	case blocked(err) && errors.As(err, &f): // another was faster, or waits for its turn
		out.Verdict, out.Reason = Deny, []string{f.Message}
	case err != nil && (fault.Is(err, fault.Exhausted) || fault.Is(err, fault.Invalid)):
		out.Warn("the files are not reserved: " + err.Error())
	case err != nil:
		return out, err
	default:
		out.Reserved = true
	}
	return out, nil
}

// checkEdit checks the files of an edit.
func (s *Service) checkEdit(ctx context.Context, c identity.Caller, e Edit) (
	b *stand, project string, checked []Checked, strange []string, err error,
) {
	if project, err = projectOf(e.Project); err != nil {
		return nil, "", nil, nil, err
	}
	good, strange := Checkable(e.Paths)
	t := s.DB.User(c.User)
	if b, err = s.read(ctx, t, boardID(project), s.Now()); err != nil {
		return nil, "", nil, nil, err
	}
	b.Project = project
	checked, err = s.checked(ctx, t, b, holderOf(c, e.SessionID), e.Worktree, good)
	return b, project, checked, strange, err
}

// checked returns the answers of a check. A reservation that has ended with its session or task does not count.
func (s *Service) checked(
	ctx context.Context, r store.Reader, b *stand, me Holder, worktree string, paths []string,
) ([]Checked, error) {
	compiled, err := b.paths(paths)
	if err != nil {
		return nil, err
	}
	out, held, err := b.check(me, worktree, compiled)
	if err != nil {
		return nil, err
	}
	if ended, err := s.prune(ctx, r, b, held); err != nil || !ended {
		return out, err
	}
	out, _, err = b.check(me, worktree, compiled)
	return out, err
}

// toReserve returns the patterns that an edit reserves: none where the session's reservations of them are fresh, nil where
// it has wider ones of its own.
func (s *stand) toReserve(e Edit, me Holder, checked []Checked) []string {
	var want []string
	kept := false
	q := &request{holder: me, worktree: e.Worktree, mode: Exclusive}
	for _, f := range checked {
		pattern := glob.Quote(f.Path)
		h := s.own(q, pattern)
		switch {
		case h != nil && h.covers(Exclusive) && h.Until.Sub(s.now) > time.Duration(h.Lease)*time.Second-RenewEvery:
			kept = true
		case h != nil || f.State == Free:
			want = append(want, pattern)
		}
	}
	if want == nil && kept {
		want = []string{}
	}
	return want
}
