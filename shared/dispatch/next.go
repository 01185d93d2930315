package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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

// A call that has tried maxTries tasks, and got none because others were faster, tries on only if it has time left. After
// a try that contended it rests for at most maxRest; it repeats the try so many times as conflicts says before it lets
// another call try.
const (
	maxTries  = 20
	maxRest   = 100 * time.Millisecond
	conflicts = 2
)

// lines are the lines of the calls that wait for a task, by user.
type lines struct {
	line.Lines[*task.Task]
	once        sync.Once
	distributor *store.Distributor[task.Task]
}

// open returns the distributor that is given the tasks that appear while calls wait.
func (l *lines) open() *store.Distributor[task.Task] {
	l.once.Do(func() {
		l.distributor = store.NewDistributor(func(user string, d store.Doc[task.Task]) {
			l.Offer(user, line.Work[*task.Task]{ID: d.ID, Value: &d.Value})
		})
	})
	return l.distributor
}

// seeker is one call that looks for a task to claim.
type seeker struct {
	*Service
	caller identity.Caller
	in     NextInput
	place  *line.Place[*task.Task]
	// refused are the tasks that this call may not take after all.
	refused []string
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
	got, err := k.claim(ctx)
	if err != nil || got.ID == "" {
		return NextOutput{}, err
	}
	return k.answer(ctx, got)
}

// claim returns the task that the call has claimed, one without an id if there is none.
func (k *seeker) claim(ctx context.Context) (task.Claim, error) {
	k.place = k.lines.Enter(k.caller.User, k.queue(), k.fits())
	taken := ""
	defer func() { k.place.Leave(taken) }()
	deadline := time.Now().Add(time.Duration(k.in.WaitMs) * time.Millisecond)
	for tries := 1; tries <= maxTries || time.Now().Before(deadline); tries++ {
		w, err := k.seek(ctx, deadline)
		if err != nil || w.ID == "" {
			return task.Claim{}, err
		}
		got, err := k.try(ctx, w.ID)
		switch {
		case err == nil:
			taken = w.ID
			return got, nil
		case fault.Is(err, fault.Conflict):
			k.place.Lost(w, line.Anybody)
			if err := rest(ctx, rand.N(maxRest)); err != nil {
				return task.Claim{}, err
			}
		case fault.Is(err, fault.Forbidden), fault.Is(err, fault.Paused):
			k.refused = append(k.refused, w.ID)
			k.place.Lost(w, line.OnlyOther)
		case errors.Is(err, task.ErrSessionOver):
			k.place.Lost(w, line.OnlyOther)
			return task.Claim{}, err
		case fault.Is(err, fault.Precondition), fault.Is(err, fault.NotFound):
			k.place.Lost(w, line.Nobody)
		default:
			k.place.Lost(w, line.OnlyOther)
			return task.Claim{}, err
		}
	}
	return task.Claim{}, nil
}

// try claims a task for the call. A claim that met another write of the task is repeated at once, before the calls behind
// this one are asked, so that contention does not change their order.
func (k *seeker) try(ctx context.Context, id string) (task.Claim, error) {
	for n := 0; ; n++ {
		got, err := k.Take(ctx, k.caller, id, k.in.SessionID, func(*task.Task) (time.Duration, error) {
			return seconds(k.in.LeaseSeconds), nil
		})
		if !fault.Is(err, fault.Conflict) || n == conflicts || rest(ctx, rand.N(maxRest/4)) != nil {
			return got, err
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
}

// queue returns the key of the line: calls with the same key look for the same tasks.
func (k *seeker) queue() string {
	types := make([]string, len(k.in.Types))
	for i, t := range k.in.Types {
		types[i] = string(t)
	}
	return strings.Join([]string{k.target(), strings.Join(types, ","), identity.Fold(k.in.ProjectID),
		fmt.Sprint(k.caller.Bound() || k.caller.IsHuman())}, "\x00")
}

// target returns the name whose tasks the caller may claim.
func (k *seeker) target() string { return identity.Fold(cmp.Or(k.caller.Program, task.Any)) }

// fits returns a function that reports whether a task is in the caller's queue and the caller may claim it, as far as
// is known now.
func (k *seeker) fits() func(line.Work[*task.Task]) bool {
	caller, target, refused := k.caller, k.target(), slices.Clone(k.refused)
	mine := func(route string) bool { return route == task.Any || identity.Same(route, target) }
	return func(w line.Work[*task.Task]) bool {
		t := w.Value
		return t.Status == task.Created && slices.Contains(k.in.Types, t.Type) && slices.ContainsFunc(t.Routes, mine) &&
			!t.Expired(k.Now()) && (k.in.ProjectID == "" || identity.Same(t.ProjectID, k.in.ProjectID)) &&
			mayClaim(t, caller) == nil && caller.Paused("", t.ProjectID) == nil && !slices.Contains(refused, w.ID)
	}
}

// seek waits for the caller's turn, or to be given a task, and returns a task to try. It has no id if the time is over.
func (k *seeker) seek(ctx context.Context, deadline time.Time) (w line.Work[*task.Task], err error) {
	if !k.place.Turn(ctx, deadline, store.EndOf(ctx), k.DB.Drained()) {
		if ctx.Err() != nil {
			return w, fault.From(ctx.Err())
		}
		return w, nil
	}
	for waited := false; ; waited = true {
		if k.caller, err = op.Halt(ctx, k.caller); err != nil {
			return w, err
		}
		if w, ok := k.place.Take(); ok || waited {
			return w, nil
		}
		err = task.Tasks.WaitOn(store.WithEnd(ctx, k.place.Given(), store.EndOf(ctx)), k.lines.open(),
			k.DB.User(k.caller.User), k.where(), time.Until(deadline), func(ctx context.Context) (bool, error) {
				for {
					fits := k.fits()
					k.place.Looking(fits)
					found, err := k.look(ctx, fits)
					// Before the store listens it may keep changes from the distributor, and another look follows.
					if err != nil || found || !store.Listening(ctx) || k.place.Idle() {
						return found, err
					}
				}
			})
		if err != nil {
			return w, err
		}
	}
}

// where selects the tasks of the queue.
func (k *seeker) where() []store.Cond {
	return []store.Cond{store.Eq("status", task.Created), task.Targets(k.target())}
}

// look finds the first tasks of the queue that the caller may claim.
func (k *seeker) look(ctx context.Context, fits func(line.Work[*task.Task]) bool) (bool, error) {
	q := store.Query{Where: k.where(), Order: []string{"rank desc", "createdAt"}, Limit: looked}
	for range maxLooked {
		page, err := task.Tasks.Query(ctx, k.DB.User(k.caller.User), q)
		if err != nil {
			return false, err
		}
		var work []line.Work[*task.Task]
		for _, d := range page.Docs {
			if w := (line.Work[*task.Task]{ID: d.ID, Value: &d.Value}); fits(w) {
				work = append(work, w)
			}
		}
		if k.place.Found(work) {
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
