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

// Service has the operations on the verifications of all users. Its methods may be called concurrently.
//
// Methods that take the id of a verification return [fault.NotFound] if the user has none with that id. Methods that
// change a verification finish an interrupted rollback first; methods that read one return [fault.Precondition] until
// that has happened. Methods whose input has an idempotency key return the first result if they are called again with
// the same key.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Random is the source of the random characters of session ids. It is crypto/rand if nil.
	Random io.Reader
	// Workspace returns the reader of the working directories of a user's agents, nil for a user whose agents work on
	// other machines. It is nil if the server reads no disk.
	Workspace func(user string) Reader
}

// disk returns the reader of the working directories of a user's agents, nil for none.
func (s *Service) disk(user string) Reader {
	if s.Workspace == nil {
		return nil
	}
	return s.Workspace(user)
}

// fieldPath returns the path of a field in an element of a list, for a fault.
func fieldPath(list string, i int, field string) string {
	return fmt.Sprintf("%s[%d].%s", list, i, field)
}

func errMissing(id string) error {
	return fault.New(fault.NotFound, "no verification with id %q", id)
}

// mustExist returns [fault.NotFound] if f has not found the session, or if the session is being deleted.
func mustExist(f *store.Fetch, v *Session, id string) error {
	if !f.Found || v.Purging {
		return errMissing(id)
	}
	return nil
}

// readSession reads a session for a call that changes nothing, together with other fetches. It fails as [mustExist]
// does, and with [fault.Precondition] during a rollback.
func readSession(ctx context.Context, r store.Reader, id string, with ...*store.Fetch) (Session, error) {
	var v Session
	f := sessions.Fetch(id, &v)
	if err := store.Load(ctx, r, append(with, f)...); err != nil {
		return v, err
	}
	if err := mustExist(f, &v, id); err != nil {
		return v, err
	}
	if v.RollingBack != nil {
		return v, errUnfinished(v.RollingBack.Round)
	}
	return v, nil
}

func errUnfinished(round int) error {
	return fault.New(fault.Precondition,
		"a rollback to round %d is not finished: call elenchus_rollback with toRound %d to finish it", round, round)
}

// change runs a change of a session. If run fails and returns an interrupted rollback, change finishes the rollback and
// runs it once more.
func (s *Service) change(
	ctx context.Context, t *store.Tenant, id string, now time.Time, run func() (*Rollback, error),
) error {
	back, err := run()
	if err == nil || back == nil {
		return err
	}
	if _, err := s.rollBack(ctx, t, id, back.Round, now, nil); err != nil {
		return err
	}
	_, err = run()
	return err
}

// Start opens a verification. It reads the files of the target and their direct imports as far as the server can, and
// returns those that the context lacks in FilesWanted. Malformed files in the input are [fault.Invalid], as is a working
// directory whose path is not absolute.
func (s *Service) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	var out StartOutput
	given, err := readFiles(in.Files, Base)
	if err != nil {
		return out, err
	}
	if !source.IsAbs(in.WorkingDir) {
		return out, fault.Field("workingDir", "must be an absolute path, such as /home/me/project, not %q", in.WorkingDir)
	}
	now, random := s.Now(), s.Random
	if random == nil {
		random = rand.Reader
	}
	id, err := newID(in.Target, now, random)
	if err != nil {
		return out, err
	}
	v := Session{
		Target:       in.Target,
		Requirements: in.Requirements,
		WorkingDir:   in.WorkingDir,
		MaxRounds:    in.MaxRounds,
		By:           c.Actor(),
		Verified:     c.Bound(),
		Maker:        c.Owner(),
		CreatedAt:    now,
		State:        State{Status: Initialized, Counts: newCounts()},
	}
	v.touch(now)
	disk, note := s.disk(c.User), ""
	if disk != nil {
		if err := disk.Check(ctx, in.WorkingDir); err != nil {
			disk, note = nil, fmt.Sprintf("the server reads no files for this verification: %v. Give them with "+
				"elenchus_add_files", err)
		}
	}
	all, references := v.collectBase(ctx, disk, given)
	set := &fileSet{files: map[string]*File{}}
	put, err := v.place(id, set, all)
	if err != nil {
		return out, err
	}
	out = StartOutput{
		SessionID:   id,
		Status:      v.Status,
		NextRole:    v.NextRole(),
		FilesWanted: set.wanted(references, v.Packages),
		Note:        note,
		Context:     StartContext{Target: v.Target, FilesCollected: len(put.added), Requirements: v.Requirements},
	}
	return idempotency.Update(ctx, s.DB.User(c.User), in, now,
		func(_ context.Context, tx *store.Tx) (StartOutput, error) {
			sessions.Create(tx, id, v)
			for _, w := range put.writes {
				w(tx)
			}
			return out, nil
		})
}

// AddFiles adds files to the context of a verification, or replaces their texts, for those who may submit rounds. It
// returns [fault.Invalid] for malformed files, [fault.Forbidden] to others once both roles are taken, and
// [fault.Precondition] if the verification has ended or if a file does not fit.
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
				return errMissing(in.SessionID)
			}
			if err != nil {
				return err
			}
			if err := v.mayHelp(c, in.SessionID); err != nil {
				return err
			}
			if back = v.RollingBack; back != nil {
				return errUnfinished(back.Round)
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

// accept adds files between rounds and stores the session.
func (s *Session) accept(
	ctx context.Context, tx *store.Tx, id string, given []incoming, now time.Time,
) (AddOutput, error) {
	var out AddOutput
	layer := Discovered
	if s.CurrentRound == 0 {
		layer = Base
	}
	for i := range given {
		given[i].Layer = layer
	}
	s.touch(now)
	references := s.dependencies(s.ofTarget(given), given)
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
	out = AddOutput{
		SessionID:   id,
		Added:       len(put.added),
		Replaced:    len(put.replaced),
		Unchanged:   put.unchanged,
		Files:       s.Files,
		Bytes:       s.Bytes,
		FilesWanted: set.wanted(references, s.Packages),
	}
	if before < manyNewFiles && s.Discovered >= manyNewFiles && !s.Over() {
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
