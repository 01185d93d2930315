package dispatch

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Release gives a task back to the queue.
func (s *Service) Release(ctx context.Context, c identity.Caller, in ReleaseInput) (View, error) {
	var out View
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, _, err := s.load(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := held(&t, c, in.ClaimToken); err != nil {
			return err
		}
		if err := task.Move(t.Type, t.Status, task.Created); err != nil {
			return err
		}
		t.Unclaim()
		t.Reason = in.Reason
		out = view(in.TaskID, t)
		task.Tasks.Put(tx, in.TaskID, t)
		task.Leases.Delete(tx, in.TaskID)
		return nil
	})
	return out, err
}

// Complete ends a task. The same completion again is answered like the first.
func (s *Service) Complete(ctx context.Context, c identity.Caller, in CompleteInput) (CompleteOutput, error) {
	var out CompleteOutput
	now, outcome := s.Now(), in.Outcome
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.one(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := held(&t, c, in.ClaimToken); err != nil {
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
		t.Outcome, t.Result = outcome, in.Result
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

// one reads a task. A missing one is NotFound.
func (s *Service) one(ctx context.Context, r store.Reader, id string) (task.Task, error) {
	t, err := task.Tasks.Get(ctx, r, id)
	if fault.Is(err, fault.NotFound) {
		return t, fault.New(fault.NotFound, "no task with id %q", id)
	}
	return t, err
}

// Update moves a task to another status, or notes something on it.
func (s *Service) Update(ctx context.Context, c identity.Caller, in UpdateInput) (View, error) {
	var out View
	if in.Status == "" && in.Note == "" {
		return out, fault.Field("status", "give a status, a note or both")
	}
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.one(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		free, err := change(&t, c, in, now)
		if err != nil {
			return err
		}
		out = view(in.TaskID, t)
		task.Tasks.Put(tx, in.TaskID, t)
		if free {
			task.Leases.Delete(tx, in.TaskID)
		}
		return nil
	})
	return out, err
}
