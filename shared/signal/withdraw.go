package signal

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// WithdrawInput is the input of withdraw_question.
type WithdrawInput struct {
	QuestionID string `json:"questionId" allow:"nonempty,max=100,pattern=id"`
	Reason     string `json:"reason,omitempty" allow:"max=300" jsonschema:"which a person who answers too late reads"`
}

// Withdraw takes a question back that nobody has answered: it waits for nobody any more, and a later answer is refused with the
// reason. An answer that was given before stands, and is returned; so is the reason of an earlier withdrawal. Callers other
// than the asker and people are Forbidden.
func (s *Service) Withdraw(ctx context.Context, c identity.Caller, in WithdrawInput) (Answer, error) {
	var out Answer
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := s.question(ctx, tx, in.QuestionID)
		if err != nil {
			return err
		}
		if !t.Owner().Is(c) {
			return fault.New(fault.Forbidden, "only %s may withdraw the question; %s", t.Owner().Or("asked it"), c)
		}
		if out = answer(t, now); out.Status != Pending {
			return nil
		}
		if err := task.Move(t.Type, t.Status, task.Derezzed); err != nil {
			return err
		}
		t.End(task.Derezzed, now)
		t.CancelledBy, t.Reason = c.Actor(), in.Reason
		t.Route()
		task.Tasks.Put(tx, in.QuestionID, t)
		out = answer(t, now)
		return nil
	})
	return out, err
}

// withdrawn returns why a question was taken back, empty where it was not.
func withdrawn(t task.Task) string {
	if t.Status != task.Derezzed || t.CancelledBy == "" {
		return ""
	}
	return cmp.Or(t.Reason, t.Note, "its answer is not needed any more")
}

// over returns the refusal of an answer to a question that is answered, withdrawn or expired; nil for one that is pending.
func over(t task.Task, now time.Time) error {
	switch answer(t, now).Status {
	case Answered:
		return fault.New(fault.Precondition, "the question was answered at %s", t.Question.AnsweredAt.Format(time.RFC3339))
	case Expired:
		if why := withdrawn(t); why != "" {
			return fault.New(fault.Precondition, "the question was withdrawn at %s, and an answer does nothing any more: %s",
				t.CompletedAt.Format(time.RFC3339), why)
		}
		return fault.New(fault.Precondition, "the question expired at %s", t.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}
