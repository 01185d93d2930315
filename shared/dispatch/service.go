package dispatch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service implements the operations and sweeps of the queue. All methods are safe for concurrent use.
type Service struct {
	// Keep is the time for which a task that nobody claims is kept after its last change, unless it expires; 0 for ever.
	Keep  time.Duration
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Directory lists the programs of a user, for warnings about unknown targets. Without one there are none.
	Directory Directory
	// Mail sends messages of the system. Without one nobody is told of a cancellation.
	Mail Mail
	// Stories is called when a sweep ends a story. It may be nil.
	Stories Stories
	// Sessions tells which sessions have ended, which claim nothing. Without it none has.
	Sessions Sessions

	lines lines
}

// Stories keeps sprints in step with their stories.
type Stories interface {
	// StoryEnded is called after a story of the sprint has ended, at least once.
	StoryEnded(ctx context.Context, user, sprintID string) error
}

// Directory lists the programs of a user's keys.
type Directory interface {
	Programs(ctx context.Context, user string) ([]string, error)
}

// Mail sends messages of the system.
type Mail interface {
	// Notify sends to an inbox a message as part of the transaction. The id is the message's.
	Notify(tx *store.Tx, id, inbox, text string, now time.Time)
	// Inbox returns the inbox of a program's session: its address if the session is live, and otherwise the program. Its
	// reads are part of a transaction.
	Inbox(ctx context.Context, r store.Reader, program, session string) (string, error)
}

// Sessions tells about sessions.
type Sessions interface {
	// Life prepares to read a program's session. After the fetches are loaded, read tells whether the session is known
	// to have ended, and when it was last heard of, zero if that is unknown.
	Life(program, session string) (fetches []*store.Fetch, read func() (ended bool, heard time.Time))
}

// over returns the reads that tell whether the session of a claim has ended, and a function that returns the fault
// after them.
func (s *Service) over(c identity.Caller, session string) (fetches []*store.Fetch, refusal func() error) {
	if session == "" || s.Sessions == nil {
		return nil, func() error { return nil }
	}
	fetches, read := s.Sessions.Life(c.Program, session)
	return fetches, func() error {
		if ended, _ := read(); ended {
			return task.SessionOver(session)
		}
		return nil
	}
}

// programs returns the programs of a user, none without a directory.
func (s *Service) programs(ctx context.Context, user string) ([]string, error) {
	if s.Directory == nil {
		return nil, nil
	}
	return s.Directory.Programs(ctx, user)
}

// spell returns the first spelling of a name: that of the program, or of task.Any and task.User.
func spell(programs []string, name string) string {
	name, _ = identity.Among(append([]string{task.Any, task.User}, programs...), name)
	return name
}

// warning returns a warning about targets that no program has, or an empty text.
func (s *Service) warning(programs []string, targets ...string) string {
	if s.Directory == nil {
		return ""
	}
	targets = slices.DeleteFunc(targets, func(name string) bool { return name == task.Any || name == task.User })
	return identity.Unknown(programs, "; the task waits until one claims it", targets...)
}

// Create adds a task to the queue. A bound key that names another program as the source is Forbidden.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	source, verified, err := c.SpeaksAs(in.Source)
	if err != nil {
		return out, err
	}
	if in.Dream != nil && in.Type != task.Dream {
		return out, fault.Field("dream", "is allowed with the type dream only")
	}
	programs, err := s.programs(ctx, c.User)
	if err != nil {
		return out, err
	}
	source, in.Target, in.Fallback = spell(programs, source), spell(programs, in.Target), slices.Clone(in.Fallback)
	for i, name := range in.Fallback {
		in.Fallback[i] = spell(programs, name)
	}
	now, id := s.Now(), s.NewID()
	t := task.Task{
		Maker: c.Owner(), Type: in.Type, Title: in.Title, Instructions: in.Instructions, Status: task.Created,
		Priority: in.Priority, Action: in.Action, Source: source, Verified: verified,
		Target: in.Target, Fallback: in.Fallback, ProjectID: in.ProjectID, ReplyTo: in.ReplyTo, ThreadID: in.ThreadID,
		Provenance: in.Provenance, CreatedAt: now, Dream: in.Dream,
	}
	if in.TTL > 0 {
		t.ExpiresAt = now.Add(time.Duration(in.TTL) * time.Second)
	}
	t.Route()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (CreateOutput, error) {
		s.keep(&t, now)
		task.Tasks.Create(tx, id, t)
		return CreateOutput{
			TaskID:    id,
			Status:    t.Status,
			Source:    source,
			Verified:  verified,
			Target:    t.Target,
			CreatedAt: now,
			ExpiresAt: t.ExpiresAt,
			Warning:   s.warning(programs, append([]string{in.Target}, in.Fallback...)...),
		}, nil
	})
}

// List returns a page of the queue, high priority first, then oldest. If the page is empty, it waits
// for the first task for at most WaitMs milliseconds.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	q := store.Query{Order: []string{"rank desc", "createdAt"}, Limit: in.Limit, Cursor: in.Cursor}
	status := store.Eq("status", in.Status)
	if in.Status == "all" {
		status = store.In("status", task.Statuses()...)
	}
	q.Where = append(q.Where, status)
	switch {
	case in.Type.Apart():
		q.Where = append(q.Where, store.Contains("routes",
			task.TypeRoute(in.Type, identity.Fold(cmp.Or(in.Target, task.Everywhere)))))
	case in.Target != "":
		q.Where = append(q.Where, task.Targets(in.Target))
	case c.IsHuman():
		q.Where = append(q.Where, store.Contains("routes", task.Everywhere))
	case in.Type == task.Question:
		q.Where = append(q.Where, store.Contains("routes", task.TypeRoute(task.Question, task.Everywhere)))
	default:
		q.Where = append(q.Where, task.Targets(cmp.Or(c.Program, task.Any)))
	}
	if in.Type != "all" {
		q.Where = append(q.Where, store.Eq("type", in.Type))
	}
	if in.Source != "" {
		programs, err := s.programs(ctx, c.User)
		if err != nil {
			return ListOutput{}, err
		}
		in.Source = spell(programs, in.Source)
		q.Where = append(q.Where, store.Eq("source", in.Source))
	}
	var out ListOutput
	t := s.DB.User(c.User)
	err := task.Tasks.Wait(
		ctx,
		t,
		q.Where,
		time.Duration(in.WaitMs)*time.Millisecond,
		func(ctx context.Context) (_ bool, err error) {
			out, err = s.page(ctx, c, t, q, in)
			return len(out.Tasks) > 0, err
		},
	)
	return out, err
}

// If all tasks of a page have expired, further pages of at least widePage tasks are read, at most
// maxPages in all. The rest is left for the next call, after a sweep.
const (
	widePage = 100
	maxPages = 8
)

// page returns one page of tasks that have not expired. It passes over expired tasks that are not
// swept yet.
func (s *Service) page(
	ctx context.Context, c identity.Caller, t *store.Tenant, q store.Query, in ListInput,
) (ListOutput, error) {
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
			v := shown(d.ID, d.Value, c)
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

// shown returns the view of a task for a caller. The answer to a question is shown to its asker and to people.
func shown(id string, t task.Task, c identity.Caller) View {
	v := view(id, t)
	if t.Question != nil && !t.Owner().Is(c) {
		q := *t.Question
		q.Response = ""
		v.Question = &q
	}
	return v
}

// Get returns one task, with its lease if it is claimed. A task that does not exist is NotFound.
func (s *Service) Get(ctx context.Context, c identity.Caller, in TaskInput) (View, error) {
	t, lease, err := s.load(ctx, s.DB.User(c.User), in.TaskID)
	if err != nil {
		return View{}, err
	}
	if t.Type != task.Question && !c.InToolset(toolset) {
		return View{}, fault.New(fault.Forbidden, "this key may read questions only; its scopes are %s",
			strings.Join(c.Scopes, ", "))
	}
	v := shown(in.TaskID, t, c)
	if t.Status == task.Active {
		v.LeaseUntil = lease.LeaseUntil
	}
	return v, nil
}

// load returns a task and its lease in one round trip, in which further fetches are loaded. A task that does not exist is
// NotFound.
func (s *Service) load(ctx context.Context, r store.Reader, id string, more ...*store.Fetch) (
	t task.Task, lease task.Lease, err error,
) {
	f := task.Tasks.Fetch(id, &t)
	if err := store.Load(ctx, r, append(more, f, task.Leases.Fetch(id, &lease))...); err != nil {
		return t, lease, err
	}
	if !f.Found {
		return t, lease, fault.New(fault.NotFound, "no task with id %q", id)
	}
	return t, lease, nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Claim claims a task under a lease of LeaseSeconds. Of several concurrent callers one gets the task;
// for the others it is Precondition, as it is for a session that has ended. A repeated call with the same session returns
// its own claim.
func (s *Service) Claim(ctx context.Context, c identity.Caller, in ClaimInput) (ClaimOutput, error) {
	got, err := s.Take(
		ctx,
		c,
		in.TaskID,
		in.SessionID,
		func(*task.Task) (time.Duration, error) { return seconds(in.LeaseSeconds), nil },
	)
	if err != nil {
		return ClaimOutput{}, err
	}
	out := ClaimOutput{View: view(in.TaskID, got.Task), ClaimToken: got.Task.ClaimToken, AlreadyClaimed: got.Same}
	out.LeaseUntil = got.LeaseUntil
	return out, nil
}

// Take claims a task under the lease that the function returns; a fault of the function refuses the
// task. Otherwise it does the same as [Service.Claim].
func (s *Service) Take(
	ctx context.Context,
	c identity.Caller,
	id, sessionID string,
	lease func(*task.Task) (time.Duration, error),
) (task.Claim, error) {
	var out task.Claim
	var refused error
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		sessions, over := s.over(c, sessionID)
		t, held, err := s.load(ctx, tx, id, sessions...)
		if err != nil {
			return err
		}
		if err := over(); err != nil {
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
			// The last allowed lease has run out, and no sweep has ended the task yet.
			task.Tasks.Put(tx, id, t)
			task.Leases.Delete(tx, id)
			return nil
		}
		if out = (task.Claim{ID: id, Task: t, LeaseUntil: held.LeaseUntil, Same: same}); same {
			return nil
		}
		out.LeaseUntil = now.Add(d)
		task.Tasks.Put(tx, id, t)
		task.Leases.Put(
			tx,
			id,
			task.Lease{ClaimToken: t.ClaimToken, ClaimedBy: t.ClaimedBy, SessionID: sessionID, LeaseUntil: out.LeaseUntil},
		)
		return nil
	})
	if err == nil {
		err = refused
	}
	return out, err
}

// Renew extends the lease of a claim to LeaseSeconds from now. A stale token and a lease that has run
// out are Precondition.
func (s *Service) Renew(ctx context.Context, c identity.Caller, in RenewInput) (RenewOutput, error) {
	out := RenewOutput{TaskID: in.TaskID}
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, lease, err := s.load(ctx, tx, in.TaskID)
		if err != nil {
			return err
		}
		if err := t.Held(c, task.Fence{Token: in.ClaimToken, SessionID: in.SessionID}); err != nil {
			return err
		}
		if !now.Before(lease.LeaseUntil) {
			return fault.New(
				fault.Precondition,
				"the lease ran out at %s; claim the task again",
				lease.LeaseUntil.Format(time.RFC3339),
			)
		}
		lease.LeaseUntil = now.Add(seconds(in.LeaseSeconds))
		out.ClaimToken, out.LeaseUntil = t.ClaimToken, lease.LeaseUntil
		task.Leases.Put(tx, in.TaskID, lease)
		return nil
	})
	return out, err
}
