package elenchus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

const (
	// backSteps is the number of steps that one transaction of a rollback reads, and backWrites the number of documents
	// that it writes. A step alone has at most 302 documents.
	backSteps  = 25
	backWrites = 450
)

// takeCheckpoint stores a checkpoint of the present state, in place of an earlier one of the same round.
func (s *Session) takeCheckpoint(tx *store.Tx, id string, now time.Time) {
	s.CheckpointTick = s.Tick
	if !slices.Contains(s.Checkpoints, s.CurrentRound) {
		s.Checkpoints = append(slices.Clone(s.Checkpoints), s.CurrentRound)
	}
	checkpoints.Under(id).
		Put(tx, roundID(s.CurrentRound), Checkpoint{Round: s.CurrentRound, Tick: s.Tick, At: now, State: s.State})
}

// Checkpoint takes a checkpoint, for those who may submit rounds. It returns [fault.Forbidden] to others once both roles
// are taken, and [fault.Precondition] if the verification has ended.
func (s *Service) Checkpoint(ctx context.Context, c identity.Caller, in CheckpointInput) (CheckpointOutput, error) {
	var out CheckpointOutput
	now, t := s.Now(), s.DB.User(c.User)
	err := s.change(ctx, t, in.SessionID, now, func() (back *Rollback, err error) {
		out, err = idempotency.Update(ctx, t, in, now,
			func(ctx context.Context, tx *store.Tx) (CheckpointOutput, error) {
				var v Session
				f := sessions.Fetch(in.SessionID, &v)
				if err := store.Load(ctx, tx, f); err != nil {
					return out, err
				}
				if err := mustExist(f, &v, in.SessionID); err != nil {
					return out, err
				}
				if err := v.mayHelp(c, in.SessionID); err != nil {
					return out, err
				}
				if back = v.RollingBack; back != nil {
					return out, errUnfinished(back.Round)
				}
				if err := v.MayChange(in.SessionID); err != nil {
					return out, err
				}
				v.touch(now)
				v.takeCheckpoint(tx, in.SessionID, now)
				sessions.Put(tx, in.SessionID, v)
				return CheckpointOutput{SessionID: in.SessionID, Round: v.CurrentRound}, nil
			})
		return back, err
	})
	return out, err
}

// Rollback restores the round, the issues and the context of a checkpoint. It takes several transactions; if it is
// interrupted, the next change of the verification finishes it. It returns [fault.Precondition] if there is no
// checkpoint of that round, or if the verification has ended, and [fault.Forbidden] unless the caller started the
// verification or is a person.
func (s *Service) Rollback(ctx context.Context, c identity.Caller, in RollbackInput) (RollbackOutput, error) {
	now, t := s.Now(), s.DB.User(c.User)
	var v Session
	err := s.change(ctx, t, in.SessionID, now, func() (back *Rollback, err error) {
		v, err = s.rollBack(ctx, t, in.SessionID, in.ToRound, now, &c)
		if v.RollingBack != nil && v.RollingBack.Round != in.ToRound {
			back = v.RollingBack
		}
		return back, err
	})
	if err != nil {
		return RollbackOutput{}, err
	}
	return RollbackOutput{
		SessionID:     in.SessionID,
		Status:        v.Status,
		CurrentRound:  v.CurrentRound,
		NextRole:      v.NextRole(),
		Files:         v.Files,
		IssuesSummary: v.Summary(),
		Convergence:   v.Convergence(),
		Checkpoints:   v.rounds(),
	}, nil
}

// rounds returns the rounds with a checkpoint. It is never nil.
func (s *Session) rounds() []int { return append([]int{}, s.Checkpoints...) }

// rollBack reverts steps, as many in a transaction as fit, until the state is that of the checkpoint. If it is
// interrupted, it can be called again. The caller must be one who may roll back; without a caller, an interrupted
// rollback is finished for whoever changes the verification next.
func (s *Service) rollBack(
	ctx context.Context, t *store.Tenant, id string, round int, now time.Time, by *identity.Caller,
) (Session, error) {
	for {
		var v Session
		err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			v, err = rollBackPart(ctx, tx, id, round, now, by)
			return err
		})
		if err != nil || v.RollingBack == nil {
			return v, err
		}
	}
}

// rollBackPart is one transaction of a rollback. The session that it returns has RollingBack set if steps remain.
func rollBackPart(
	ctx context.Context, tx *store.Tx, id string, round int, now time.Time, by *identity.Caller,
) (Session, error) {
	var v Session
	var cp Checkpoint
	sf, cf := sessions.Fetch(id, &v), checkpoints.Under(id).Fetch(roundID(round), &cp)
	if err := store.Load(ctx, tx, sf, cf); err != nil {
		return v, err
	}
	if err := mustExist(sf, &v, id); err != nil {
		return v, err
	}
	if by != nil {
		if err := v.mayEnd(*by, id); err != nil {
			return v, err
		}
	}
	if v.RollingBack != nil && v.RollingBack.Round != round {
		return v, errUnfinished(v.RollingBack.Round)
	}
	if err := v.MayChange(id); err != nil {
		return v, err
	}
	if !cf.Found || !slices.Contains(v.Checkpoints, round) {
		return v, fault.New(fault.Precondition, "verification %s has no checkpoint of round %d; %s", id, round,
			v.offered())
	}
	page, err := steps.Under(id).Query(ctx, tx, store.Query{
		Where: []store.Cond{store.Gt("tick", cp.Tick)},
		Order: []string{"tick desc"},
		Limit: backSteps,
	})
	if err != nil {
		return v, err
	}
	reverted := revert(tx, id, page.Docs)
	v.touch(now)
	if reverted < len(page.Docs) || len(page.Docs) == backSteps {
		v.RollingBack = &Rollback{Round: round}
	} else {
		v.RollingBack, v.State = nil, cp.State
	}
	sessions.Put(tx, id, v)
	return v, nil
}

// offered names the checkpoints in a fault.
func (s *Session) offered() string {
	if len(s.Checkpoints) == 0 {
		return "there is none yet: one is taken on every even round, and by elenchus_checkpoint"
	}
	list := make([]string, len(s.Checkpoints))
	for i, r := range s.Checkpoints {
		list[i] = fmt.Sprint(r)
	}
	return "there is one of round " + strings.Join(list, ", ")
}

// revert reverts steps, the latest first, and returns the number of steps that fit into the transaction. If several
// steps changed the same document, it restores the value that the oldest of them replaced.
func revert(tx *store.Tx, id string, list []store.Doc[step]) int {
	tracks, replaced, gone := map[string]issueBefore{}, map[string]fileBefore{}, map[string]bool{}
	n := 0
	for i, d := range list {
		st := d.Value
		if n += 2 + len(st.Issues) + 2*len(st.Files); i > 0 && n > backWrites {
			list = list[:i]
			break
		}
		for _, b := range st.Issues {
			tracks[b.ID] = b
		}
		for _, b := range st.Files {
			replaced[b.File.Path] = b
			gone[contentID(File{Path: b.File.Path, Tick: st.Tick})] = true
		}
		steps.Under(id).Delete(tx, d.ID)
		if st.Round {
			rounds.Under(id).Patch(tx, d.ID, store.Set("rolledBack", true))
		}
	}
	for issue, b := range tracks {
		if b.New {
			issues.Under(id).Delete(tx, issue)
			continue
		}
		issues.Under(id).Patch(tx, issue, b.Track.edits()...)
	}
	for p, b := range replaced {
		if b.New {
			files.Under(id).Delete(tx, fileID(p))
		} else {
			files.Under(id).Put(tx, fileID(p), b.File)
		}
	}
	for c := range gone {
		contents.Under(id).Delete(tx, c)
	}
	return len(list)
}

// edits returns the edits that restore the track of an issue.
func (t Track) edits() []store.Edit {
	resolved := store.Unset("resolvedInRound")
	if t.ResolvedInRound > 0 {
		resolved = store.Set("resolvedInRound", t.ResolvedInRound)
	}
	return []store.Edit{
		store.Set("severity", t.Severity),
		store.Set("status", t.Status),
		store.Set("open", t.Open),
		resolved,
		store.Set("transitions", t.Transitions),
		store.Set("changes", t.Changes),
	}
}
