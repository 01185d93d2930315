package dream

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Queue takes tasks up: of many at once, one gets it.
type Queue interface {
	Take(ctx context.Context, c identity.Caller, id, sessionID string,
		lease func(*task.Task) (time.Duration, error)) (task.Claim, error)
}

// Service is the dreams of all users.
type Service struct {
	DB    *store.DB
	Queue Queue
	Now   func() time.Time
}

// Peek lists the dreams that nobody has begun.
func (s *Service) Peek(ctx context.Context, c identity.Caller, in PeekInput) (PeekOutput, error) {
	out := PeekOutput{Dreams: []View{}}
	q := store.Query{Where: []store.Cond{store.Eq("status", task.Created), store.Eq("type", task.Dream)},
		Order: []string{"rank desc", "createdAt"}, Limit: in.Limit}
	switch {
	case in.Target != "":
		q.Where = append(q.Where, store.ContainsAny("routes", in.Target, task.Any))
	case c.Bound():
		q.Where = append(q.Where, store.ContainsAny("routes", c.Program, task.Any))
	default:
		q.Where = append(q.Where, store.Contains("routes", task.Everywhere))
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

// Activate takes a dream up. Of many at once, one gets it.
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
