package sprint

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Complete completes a sprint and skips its stories that nobody holds. A repeated call returns
// the first result with AlreadyCompleted. A caller other than the creator and a human is
// Forbidden; a sprint with an active story is Precondition.
func (s *Service) Complete(ctx context.Context, c identity.Caller, in CompleteInput) (CompleteOutput, error) {
	var out CompleteOutput
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = CompleteOutput{SprintID: in.SprintID, Status: task.Done, CompletedAt: now}
		var parent task.Task
		f := task.Tasks.Fetch(in.SprintID, &parent)
		if err := store.Load(ctx, tx, f); err != nil {
			return err
		}
		if !isSprint(f.Found, &parent) {
			return noSprint(in.SprintID)
		}
		if !oversees(&parent, c) {
			return fault.New(fault.Forbidden, "only %s may complete it; %s",
				parent.Owner().Or("created the sprint"), c)
		}
		if parent.Status == task.Done {
			out.CompletedAt, out.AlreadyCompleted = parent.CompletedAt, true
			return read(parent.Sprint.Summary, &out.Summary)
		}
		stories, err := all(ctx, tx, in.SprintID)
		if err != nil {
			return err
		}
		if out.Summary, err = closeAll(&parent, stories, in.Summary, now); err != nil {
			return err
		}
		task.Tasks.Put(tx, in.SprintID, parent)
		for _, t := range stories {
			task.Tasks.Put(tx, docID(in.SprintID, t.Sprint.StoryID), t)
		}
		return nil
	})
	if err != nil {
		return CompleteOutput{}, err
	}
	return out, nil
}

// closeAll ends a sprint and all its stories, and sets their purge time. A sprint with an active
// story is Precondition.
func closeAll(parent *task.Task, stories []task.Task, given Said, now time.Time) (Summary, error) {
	var busy []string
	for _, t := range stories {
		if t.Status == task.Active {
			busy = append(busy, fmt.Sprintf("%s (by %s)", t.Sprint.StoryID, t.ClaimedBy))
		}
	}
	if len(busy) > 0 {
		return Summary{}, fault.New(fault.Precondition,
			"stories are active: %s; wait for them, or set them to skipped first", strings.Join(busy, ", "))
	}
	if err := task.Move(parent.Type, parent.Status, task.Done); err != nil {
		return Summary{}, err
	}
	for i := range stories {
		t := &stories[i]
		if !t.Sprint.Ended {
			if err := task.Move(t.Type, t.Status, task.Derezzed); err != nil {
				return Summary{}, err
			}
			end(t, task.Derezzed, now)
			t.Reason = "its sprint was completed"
		}
		t.PurgeAt = now.Add(task.Retention)
		t.Route()
	}
	n := count(stories)
	sum := Summary{or(given.Completed, n.Complete), or(given.Failed, n.Failed), or(given.Skipped, n.Skipped),
		or(given.Duration, int64(now.Sub(parent.CreatedAt)/time.Second))}
	text, err := json.Marshal(sum)
	if err != nil {
		return sum, fault.Wrap(fault.Internal, err, "sprint summary")
	}
	parent.Sprint.Summary = text
	parent.End(task.Done, now)
	parent.Outcome = task.Done
	parent.Route()
	return sum, nil
}

func or[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}
