package dispatch

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service is the queue of all users.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Stories is told when a sweep ends a story; it may be nil.
	Stories Stories
}

// Stories keeps sprints in step with their stories.
type Stories interface {
	// StoryEnded is called after a story of the sprint has ended, at least once.
	StoryEnded(ctx context.Context, user, sprintID string) error
}

// Create puts a task into the queue.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	source, verified, err := c.SpeaksAs(in.Source)
	if err != nil {
		return out, err
	}
	if in.Dream != nil && in.Type != task.Dream {
		return out, fault.Field("dream", "goes with type dream alone")
	}
	now, id := s.Now(), s.NewID()
	t := task.Task{
		Type: in.Type, Title: in.Title, Instructions: in.Instructions, Status: task.Created,
		Priority: in.Priority, Action: in.Action, Source: source, Verified: verified,
		Target: in.Target, Fallback: in.Fallback, ProjectID: in.ProjectID, ReplyTo: in.ReplyTo, ThreadID: in.ThreadID,
		Provenance: in.Provenance, CreatedAt: now, Dream: in.Dream,
	}
	if in.TTL > 0 {
		t.ExpiresAt = now.Add(time.Duration(in.TTL) * time.Second)
	}
	t.Route()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (CreateOutput, error) {
		task.Tasks.Create(tx, id, t)
		return CreateOutput{TaskID: id, Status: t.Status, Source: source, Verified: verified, Target: t.Target, CreatedAt: now, ExpiresAt: t.ExpiresAt}, nil
	})
}

// List reads a page of the queue, and waits for its first task where it is told to.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	q := store.Query{Order: []string{"rank desc", "createdAt"}, Limit: in.Limit, Cursor: in.Cursor}
	status := store.Eq("status", in.Status)
	if in.Status == "all" {
		status = store.In("status", task.Statuses()...)
	}
	q.Where = append(q.Where, status)
	switch {
	case in.Type.Apart():
		q.Where = append(q.Where, store.Contains("routes", task.TypeRoute(in.Type, cmp.Or(in.Target, task.Everywhere))))
	case in.Target == "":
		q.Where = append(q.Where, store.Contains("routes", task.Everywhere))
	default:
		q.Where = append(q.Where, store.ContainsAny("routes", in.Target, task.Any))
	}
	if in.Type != "all" {
		q.Where = append(q.Where, store.Eq("type", in.Type))
	}
	if in.Source != "" {
		q.Where = append(q.Where, store.Eq("source", in.Source))
	}
	var out ListOutput
	t := s.DB.User(c.User)
	err := task.Tasks.Wait(ctx, t, q.Where, time.Duration(in.WaitMs)*time.Millisecond, func(ctx context.Context) (_ bool, err error) {
		out, err = s.page(ctx, t, q, in)
		return len(out.Tasks) > 0, err
	})
	return out, err
}

// Behind a page of nothing but what expired, more is read at once, and only so
// often: the rest is for the next call, after a sweep.
const (
	widePage = 100
	maxPages = 8
)

// page reads one page of live tasks. What expired and was not swept yet does not
// stand before them.
func (s *Service) page(ctx context.Context, t *store.Tenant, q store.Query, in ListInput) (ListOutput, error) {
	out, now, limit := ListOutput{Tasks: []View{}}, s.Now(), q.Limit
	for range maxPages {
		found, err := task.Tasks.Query(ctx, t, q)
		if err != nil {
			return out, err
		}
		out.NextCursor = found.Next
		for i, d := range found.Docs {
			if d.Value.Expired(now) {
				continue
			}
			v := view(d.ID, d.Value)
			if !*in.IncludeInstructions {
				v.Instructions = ""
			}
			if out.Tasks = append(out.Tasks, v); len(out.Tasks) == limit && i < len(found.Docs)-1 {
				out.NextCursor = found.After(i)
				break
			}
		}
		if len(out.Tasks) > 0 || found.Next == "" {
			break
		}
		q.Cursor, q.Limit = found.Next, max(limit, widePage)
	}
	return out, nil
}

// Get reads one task, with its lease where it is claimed.
func (s *Service) Get(ctx context.Context, c identity.Caller, in TaskInput) (View, error) {
	t, lease, err := s.load(ctx, s.DB.User(c.User), in.TaskID)
	if err != nil {
		return View{}, err
	}
	v := view(in.TaskID, t)
	if t.Status == task.Active {
		v.LeaseUntil = lease.LeaseUntil
	}
	return v, nil
}

// load reads a task and its lease at once. A missing task is NotFound.
func (s *Service) load(ctx context.Context, r store.Reader, id string) (t task.Task, lease task.Lease, err error) {
	f := task.Tasks.Fetch(id, &t)
	if err := store.Load(ctx, r, f, task.Leases.Fetch(id, &lease)); err != nil {
		return t, lease, err
	}
	if !f.Found {
		return t, lease, fault.New(fault.NotFound, "no task with id %q", id)
	}
	return t, lease, nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Claim takes a task up under a lease. Of many at once, one gets it.
func (s *Service) Claim(ctx context.Context, c identity.Caller, in ClaimInput) (ClaimOutput, error) {
	got, err := s.Take(ctx, c, in.TaskID, in.SessionID, func(*task.Task) (time.Duration, error) { return seconds(in.LeaseSeconds), nil })
	if err != nil {
		return ClaimOutput{}, err
	}
	out := ClaimOutput{View: view(in.TaskID, got.Task), ClaimToken: got.Task.ClaimToken, AlreadyClaimed: got.Same}
	out.LeaseUntil = got.LeaseUntil
	return out, nil
}

// Take claims a task for as long as lease says, which may refuse it too.
func (s *Service) Take(ctx context.Context, c identity.Caller, id, sessionID string, lease func(*task.Task) (time.Duration, error)) (task.Claim, error) {
	var out task.Claim
	var refused error
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, held, err := s.load(ctx, tx, id)
		if err != nil {
			return err
		}
		d, err := lease(&t)
		if err != nil {
			return err
		}
		before := t.Attempts
		same, err := claim(&t, held, c, sessionID, now)
		if refused = err; err != nil {
			if t.Attempts == before {
				return err
			}
			// Its lease has run out, which this call is the first to see.
			task.Tasks.Put(tx, id, t)
			task.Leases.Delete(tx, id)
			return nil
		}
		if out = (task.Claim{ID: id, Task: t, LeaseUntil: held.LeaseUntil, Same: same}); same {
			return nil
		}
		out.LeaseUntil = now.Add(d)
		task.Tasks.Put(tx, id, t)
		task.Leases.Put(tx, id, task.Lease{ClaimToken: t.ClaimToken, ClaimedBy: t.ClaimedBy, SessionID: sessionID, LeaseUntil: out.LeaseUntil})
		return nil
	})
	if err == nil {
		err = refused
	}
	return out, err
}

// Renew gives a claim more time, counted from now.
func (s *Service) Renew(ctx context.Context, c identity.Caller, in RenewInput) (RenewOutput, error) {
	out := RenewOutput{TaskID: in.TaskID, ClaimToken: in.ClaimToken}
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, lease, err := s.load(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := held(&t, c, in.ClaimToken); err != nil {
			return err
		}
		if !now.Before(lease.LeaseUntil) {
			return fault.New(fault.Precondition, "the lease ran out at %s; claim the task again", lease.LeaseUntil.Format(time.RFC3339))
		}
		lease.LeaseUntil = now.Add(seconds(in.LeaseSeconds))
		out.LeaseUntil = lease.LeaseUntil
		task.Leases.Put(tx, in.TaskID, lease)
		return nil
	})
	return out, err
}
