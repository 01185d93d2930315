package elenchus

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service is the verifications of all users.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Random makes the ends of session ids; nil for the system's source.
	Random io.Reader
	// Workspace reads the agents' working directories; nil where the server cannot.
	Workspace Reader
}

func at(list string, i int, field string) string { return fmt.Sprintf("%s[%d].%s", list, i, field) }

func missing(id string) error {
	return fault.New(fault.NotFound, "no verification with id %q", id)
}

// mustExist returns NotFound where a session was not found, or is being deleted.
func mustExist(f *store.Fetch, v *Session, id string) error {
	if !f.Found || v.Purging {
		return missing(id)
	}
	return nil
}

// look reads a session for a call that changes nothing.
func look(ctx context.Context, r store.Reader, id string, with ...*store.Fetch) (Session, error) {
	var v Session
	f := sessions.Fetch(id, &v)
	if err := store.Load(ctx, r, append(with, f)...); err != nil {
		return v, err
	}
	if err := mustExist(f, &v, id); err != nil {
		return v, err
	}
	if v.RollingBack != nil {
		return v, unfinished(v.RollingBack.Round)
	}
	return v, nil
}

func unfinished(round int) error {
	return fault.New(fault.Precondition, "a rollback to round %d is not finished: call elenchus_rollback with toRound %d to finish it", round, round)
}

// change runs a change of a session. Where run finds a rollback that was cut short, which it then returns, that is
// finished first and run runs again.
func (s *Service) change(ctx context.Context, t *store.Tenant, id string, now time.Time, run func() (*Rollback, error)) error {
	back, err := run()
	if err == nil || back == nil {
		return err
	}
	if _, err := s.goBack(ctx, t, id, back.Round, now); err != nil {
		return err
	}
	_, err = run()
	return err
}

// Start opens a verification. The server reads what it may of the target; what it
// lacks is wanted.
func (s *Service) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	var out StartOutput
	given, err := readFiles(in.Files, Base)
	if err != nil {
		return out, err
	}
	by, verified, _ := c.SpeaksAs("")
	now, random := s.Now(), s.Random
	if random == nil {
		random = rand.Reader
	}
	id, err := newID(in.Target, now, random)
	if err != nil {
		return out, err
	}
	v := Session{Target: in.Target, Requirements: in.Requirements, WorkingDir: in.WorkingDir, MaxRounds: in.MaxRounds, By: by, Verified: verified,
		CreatedAt: now, State: State{Status: Initialized, Counts: newCounts()}}
	v.touch(now)
	all, references := v.survey(ctx, s.Workspace, given)
	set := &fileSet{files: map[string]*File{}}
	put, err := v.place(id, set, all)
	if err != nil {
		return out, err
	}
	out = StartOutput{SessionID: id, Status: v.Status, NextRole: v.NextRole(), FilesWanted: set.wanted(references, v.Packages),
		Context: StartContext{Target: v.Target, FilesCollected: len(put.added), Requirements: v.Requirements}}
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (StartOutput, error) {
		sessions.Create(tx, id, v)
		for _, w := range put.writes {
			w(tx)
		}
		return out, nil
	})
}

// AddFiles puts files into the context of a verification, or newer texts of those
// that are there.
func (s *Service) AddFiles(ctx context.Context, c identity.Caller, in AddInput) (AddOutput, error) {
	var out AddOutput
	given, err := readFiles(in.Files, Discovered)
	if err != nil {
		return out, err
	}
	now, t := s.Now(), s.DB.User(c.User)
	err = s.change(ctx, t, in.SessionID, now, func() (back *Rollback, err error) {
		err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			back = nil
			v, err := sessions.Get(ctx, tx, in.SessionID)
			if fault.Is(err, fault.NotFound) || (err == nil && v.Purging) {
				return missing(in.SessionID)
			}
			if err != nil {
				return err
			}
			if back = v.RollingBack; back != nil {
				return unfinished(back.Round)
			}
			if err := v.MayChange(in.SessionID); err != nil {
				return err
			}
			out, err = v.accept(ctx, tx, in.SessionID, given, now)
			return err
		})
		return back, err
	})
	return out, err
}

// accept adds files between rounds and saves the session.
func (s *Session) accept(ctx context.Context, tx *store.Tx, id string, given []incoming, now time.Time) (AddOutput, error) {
	var out AddOutput
	layer := Discovered
	if s.CurrentRound == 0 {
		layer = Base
	}
	for i := range given {
		given[i].Layer = layer
	}
	s.touch(now)
	references := s.depend(s.ofTarget(given), given)
	set := fileSetOf(id, append(pathsOf(references), pathsIn(given)...))
	if err := set.load(ctx, tx); err != nil {
		return out, err
	}
	put, err := s.place(id, set, given)
	if err != nil {
		return out, err
	}
	before := s.Discovered
	if s.CurrentRound > 0 {
		s.Discovered += len(put.added)
	}
	out = AddOutput{SessionID: id, Added: len(put.added), Replaced: len(put.replaced), Unchanged: put.unchanged, Files: s.Files, Bytes: s.Bytes,
		FilesWanted: set.wanted(references, s.Packages)}
	if before < manyNewFiles && s.Discovered >= manyNewFiles {
		out.Intervention = expand(s.Discovered, put.added)
	}
	for _, w := range put.writes {
		w(tx)
	}
	if len(put.before) > 0 {
		steps.Under(id).Create(tx, tickID(s.Tick), step{Tick: s.Tick, Files: put.before})
	}
	sessions.Put(tx, id, *s)
	return out, nil
}

func pathsOf(references []source.Reference) []string {
	var out []string
	for _, w := range references {
		out = append(out, w.Paths...)
	}
	return out
}

func pathsIn(in []incoming) []string {
	var out []string
	for _, f := range in {
		out = append(out, f.Path)
	}
	return out
}
