package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/dispatch/line"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// looked is the number of tasks in a page that a look for work reads, and maxLooked the number of pages.
const (
	looked    = 20
	maxLooked = 10
)

// maxTries is the number of tasks that one call tries to claim. Others have taken them all before it.
const maxTries = 20

// seeker is one call that looks for a task to claim.
type seeker struct {
	*Service
	caller identity.Caller
	in     NextInput
	place  *line.Place
}

// ClaimNext claims the first task of the caller's queue that is ready: high priority first, then oldest. If there is none,
// it waits for one for at most WaitMs milliseconds. Of many calls that wait in one process the first to come gets the
// first task. A task whose answer does not reach its caller goes back to the queue.
func (s *Service) ClaimNext(ctx context.Context, c identity.Caller, in NextInput) (NextOutput, error) {
	if len(in.Types) == 0 {
		in.Types = []task.Type{task.Work}
	}
	in.Types = slices.Compact(slices.Sorted(slices.Values(in.Types)))
	k := &seeker{Service: s, caller: c, in: in}
	k.place = s.lines.Enter(k.queue())
	taken := ""
	defer func() { k.place.Leave(taken) }()
	deadline := time.Now().Add(time.Duration(in.WaitMs) * time.Millisecond)
	for range maxTries {
		id, err := k.seek(ctx, deadline)
		if err != nil || id == "" {
			return NextOutput{}, err
		}
		got, err := s.Take(ctx, k.caller, id, in.SessionID, func(*task.Task) (time.Duration, error) {
			return seconds(in.LeaseSeconds), nil
		})
		switch {
		case err == nil:
			taken = id
			return k.answer(ctx, got)
		case fault.Is(err, fault.Conflict):
			k.place.Lost(id, true)
		case fault.Is(err, fault.Precondition), fault.Is(err, fault.NotFound), fault.Is(err, fault.Forbidden),
			fault.Is(err, fault.Paused):
			k.place.Lost(id, false)
		default:
			taken = id // it is no longer tried
			return NextOutput{}, err
		}
	}
	return NextOutput{}, fault.New(fault.Conflict, "others took the last %d tasks of the queue first; repeat the call",
		maxTries)
}

// queue returns the key of the line: calls with the same key look for the same tasks.
func (k *seeker) queue() string {
	types := make([]string, len(k.in.Types))
	for i, t := range k.in.Types {
		types[i] = string(t)
	}
	return strings.Join([]string{k.caller.User, k.target(), strings.Join(types, ","), identity.Fold(k.in.ProjectID),
		fmt.Sprint(k.caller.Bound() || k.caller.IsHuman())}, "\x00")
}

// target returns the name whose tasks the caller may claim.
func (k *seeker) target() string { return identity.Fold(cmp.Or(k.caller.Program, task.Any)) }

// seek waits for the caller's turn and returns the id of a task to try, empty if the time is over.
func (k *seeker) seek(ctx context.Context, deadline time.Time) (string, error) {
	if !k.place.Turn(ctx, deadline, store.EndOf(ctx), k.DB.Drained()) {
		if ctx.Err() != nil {
			return "", fault.From(ctx.Err())
		}
		return "", nil
	}
	for {
		var err error
		if k.caller, err = op.Halt(ctx, k.caller); err != nil {
			return "", err
		}
		if id, ok := k.place.Take(); ok {
			return id, nil
		}
		found := false
		poked := k.place.Poked()
		err = task.Tasks.Wait(store.WithEnd(ctx, poked, store.EndOf(ctx)), k.DB.User(k.caller.User), k.where(),
			time.Until(deadline), func(ctx context.Context) (_ bool, err error) {
				k.place.Looking()
				if found, err = k.look(ctx); err == nil && !found {
					k.place.Idle()
				}
				return found, err
			})
		if err != nil {
			return "", err
		}
		select {
		case <-poked:
			continue
		default:
		}
		if !found {
			return "", nil
		}
	}
}

// where selects the tasks of the queue.
func (k *seeker) where() []store.Cond {
	return []store.Cond{store.Eq("status", task.Created), task.Targets(k.target())}
}

// look finds the first tasks of the queue that the caller may claim.
func (k *seeker) look(ctx context.Context) (bool, error) {
	q := store.Query{Where: k.where(), Order: []string{"rank desc", "createdAt"}, Limit: looked}
	now := k.Now()
	for range maxLooked {
		page, err := task.Tasks.Query(ctx, k.DB.User(k.caller.User), q)
		if err != nil {
			return false, err
		}
		var ids []string
		for _, d := range page.Docs {
			t := d.Value
			fits := slices.Contains(k.in.Types, t.Type) && !t.Expired(now) &&
				(k.in.ProjectID == "" || identity.Same(t.ProjectID, k.in.ProjectID))
			if fits && mayClaim(&t, k.caller) == nil && k.caller.Paused("", t.ProjectID) == nil {
				ids = append(ids, d.ID)
			}
		}
		if k.place.Found(ids) {
			return true, nil
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return false, nil
}

// answer returns the claimed task. If the caller has gone, the task goes back.
func (k *seeker) answer(ctx context.Context, got task.Claim) (NextOutput, error) {
	undo := func(ctx context.Context) error {
		_, err := k.Release(ctx, k.caller, ReleaseInput{TaskID: got.ID, ClaimToken: got.Task.ClaimToken,
			Reason: "the answer of claim_next_task did not reach its caller"})
		return err
	}
	if store.Ended(ctx) || ctx.Err() != nil {
		return NextOutput{}, undo(context.WithoutCancel(ctx))
	}
	op.OnUndelivered(ctx, undo)
	v := view(got.ID, got.Task)
	v.LeaseUntil = got.LeaseUntil
	return NextOutput{Claimed: true, Task: &v, ClaimToken: got.Task.ClaimToken}, nil
}
