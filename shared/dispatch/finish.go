package dispatch

import (
	"context"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Release gives up a claim and puts the task back into the queue. A stale token, and a task that has ended, which its last
// holder may only open again by update_task, are Precondition.
func (s *Service) Release(ctx context.Context, c identity.Caller, in ReleaseInput) (View, error) {
	var out View
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, _, err := s.load(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := t.Held(c, task.Fence{Token: in.ClaimToken, SessionID: in.SessionID}); err != nil {
			return err
		}
		if t.Status.Ended() {
			return fault.New(fault.Precondition, "the task is %s, so there is no claim to release", t.Status)
		}
		if err := task.Move(t.Type, t.Status, task.Created); err != nil {
			return err
		}
		t.Unclaim()
		t.Reason = in.Reason
		s.keep(&t, s.Now())
		out = view(in.TaskID, t)
		task.Tasks.Put(tx, in.TaskID, t)
		task.Leases.Delete(tx, in.TaskID)
		return nil
	})
	return out, err
}

// Complete ends a task as done or failed. A repeated identical completion returns the first result
// with AlreadyCompleted. A caller that does not hold the claim is refused as Precondition.
func (s *Service) Complete(ctx context.Context, c identity.Caller, in CompleteInput) (CompleteOutput, error) {
	var out CompleteOutput
	now, outcome := s.Now(), in.Outcome
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.one(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := t.Held(c, task.Fence{Token: in.ClaimToken, SessionID: in.SessionID}); err != nil {
			return err
		}
		if t.Status == outcome && t.Result == in.Result {
			out = CompleteOutput{View: view(in.TaskID, t), AlreadyCompleted: true}
			return nil
		}
		if err := task.Move(t.Type, t.Status, outcome); err != nil {
			return err
		}
		t.End(outcome, now)
		t.Outcome, t.Result, t.EndedBy = outcome, in.Result, c.Actor()
		if in.TokensIn > 0 || in.TokensOut > 0 || in.CostUSD > 0 {
			t.Usage = &task.Usage{TokensIn: in.TokensIn, TokensOut: in.TokensOut, CostUSD: in.CostUSD}
		}
		t.Route()
		out = CompleteOutput{View: view(in.TaskID, t)}
		task.Tasks.Put(tx, in.TaskID, t)
		task.Leases.Delete(tx, in.TaskID)
		return nil
	})
	return out, err
}

// one returns a task. A task that does not exist is NotFound.
func (s *Service) one(ctx context.Context, r store.Reader, id string) (task.Task, error) {
	t, err := task.Tasks.Get(ctx, r, id)
	if fault.Is(err, fault.NotFound) {
		return t, fault.New(fault.NotFound, "no task with id %q", id)
	}
	return t, err
}

// Update gives a task another status, a note, or, while it waits in a queue, another priority and target. A change that
// the lifecycle does not allow is Precondition.
func (s *Service) Update(ctx context.Context, c identity.Caller, in UpdateInput) (View, error) {
	var out View
	if in.Status == "" && in.Note == "" && !in.moves() {
		return out, fault.Field("status", "is required unless there is a note, a priority or a target")
	}
	if in.Target != "" {
		programs, err := s.programs(ctx, c.User)
		if err != nil {
			return out, err
		}
		in.Target = spell(programs, in.Target)
	}
	now, noticeID := s.Now(), s.NewID()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.one(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		before := t
		free, err := change(&t, c, in, now)
		if err != nil {
			return err
		}
		tell := func() {}
		if before.Status != t.Status && t.Status == task.Derezzed {
			if tell, err = s.tellHolder(ctx, tx, noticeID, in.TaskID, &before, c, now); err != nil {
				return err
			}
		}
		s.keep(&t, s.Now())
		out = view(in.TaskID, t)
		task.Tasks.Put(tx, in.TaskID, t)
		if free {
			task.Leases.Delete(tx, in.TaskID)
		}
		tell()
		return nil
	})
	return out, err
}

// tellHolder returns the function that sends a message, which names the canceller, to the holder of running work that
// was cancelled: the session that claimed it, or else its program. A holder without a program, and one that cancels its
// own work, get none.
func (s *Service) tellHolder(
	ctx context.Context, tx *store.Tx, id, taskID string, t *task.Task, c identity.Caller, now time.Time,
) (tell func(), err error) {
	running := t.ClaimedBy != "" && !t.Status.Ended()
	own := identity.Same(t.ClaimedBy, c.Actor()) && (t.SessionID == "" || c.Session == "" ||
		identity.SameSession(t.ClaimedBy, t.SessionID, c.Session))
	if !running || s.Mail == nil || !identity.ValidName(t.ClaimedBy) || own {
		return func() {}, nil
	}
	inbox, err := s.Mail.Inbox(ctx, tx, t.ClaimedBy, t.SessionID)
	return func() {
		s.Mail.Notify(tx, id, inbox, fmt.Sprintf("The task %q (%s), which you hold, was cancelled by %s. Stop working "+
			"on it.", t.Title, taskID, c.Actor()), now)
	}, err
}
