package dream

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Queue claims tasks. Take claims the task with that id for the caller's session, under the lease
// that the function returns, whose fault refuses the task. A repeated call of the holder returns
// its own claim with Same set. Of several concurrent callers one gets the task; for the others it
// is Precondition.
type Queue interface {
	Take(ctx context.Context, c identity.Caller, id, sessionID string,
		lease func(*task.Task) (time.Duration, error)) (task.Claim, error)
}

// Service implements the operations of dreams. All methods are safe for concurrent use.
type Service struct {
	DB    *store.DB
	Queue Queue
	Now   func() time.Time
}

// Peek returns the dreams that wait to be begun: those of Target, else of the caller's program,
// else, for a human, of all programs. High priority comes first, then the oldest.
func (s *Service) Peek(ctx context.Context, c identity.Caller, in PeekInput) (PeekOutput, error) {
	out := PeekOutput{Dreams: []View{}}
	q := store.Query{Where: []store.Cond{store.Eq("status", task.Created), store.Eq("type", task.Dream)},
		Order: []string{"rank desc", "createdAt"}, Limit: in.Limit}
	switch {
	case in.Target != "":
		q.Where = append(q.Where, task.Targets(in.Target))
	case c.IsHuman():
		q.Where = append(q.Where, store.Contains("routes", task.Everywhere))
	default:
		q.Where = append(q.Where, task.Targets(cmp.Or(c.Program, task.Any)))
	}
	now := s.Now()
	page, err := task.Tasks.Query(ctx, s.DB.User(c.User), q)
	if err != nil {
		return out, err
	}
	for _, d := range page.Docs {
		if !d.Value.Expired(now) {
			out.Dreams = append(out.Dreams, view(d.ID, &d.Value))
		}
	}
	return out, nil
}

// Activate claims a dream for the hours of its spec. Of several concurrent callers one gets it;
// for the others it is Precondition, as for a task of another type. A dream that does not exist is
// NotFound, a dream for another program Forbidden.
func (s *Service) Activate(ctx context.Context, c identity.Caller, in ActivateInput) (ActivateOutput, error) {
	got, err := s.Queue.Take(ctx, c, in.DreamID, in.SessionID, lease)
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "no dream with id %q", in.DreamID)
	}
	if err != nil {
		return ActivateOutput{}, err
	}
	return ActivateOutput{View: view(in.DreamID, &got.Task), ClaimToken: got.Task.ClaimToken,
		LeaseUntil: got.LeaseUntil, AlreadyActive: got.Same}, nil
}
