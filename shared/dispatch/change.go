package dispatch

import (
	"cmp"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// change applies an update_task; free reports whether the task has lost its holder by it. A claimed task may be changed
// by its holder, and cancelled by its creator. A task that ended may be changed by its creator and its last holder, and
// an unclaimed task by its creator and by all that may claim it. Only its creator may change its priority and its
// target. A human may change every task.
func change(t *task.Task, c identity.Caller, in UpdateInput, now time.Time) (free bool, err error) {
	if t.Type == task.Story || t.Type == task.Sprint {
		return false, fault.New(fault.Precondition, "a %s is changed with update_sprint_story and complete_sprint", t.Type)
	}
	if err := mayChange(t, c, in); err != nil {
		return false, err
	}
	if in.moves() {
		if err := move(t, c, in); err != nil {
			return false, err
		}
	}
	if in.Note != "" {
		t.Note, t.NotedAt = in.Note, now
	}
	if in.Status == "" || in.Status == t.Status {
		return t.Status.Ended(), nil
	}
	if in.Status == task.Active && t.Status == task.Created {
		return false, fault.New(fault.Precondition, "a created task becomes active by claim_task, which gives it a lease")
	}
	if t.Type == task.Question && in.Status == task.Done {
		return false, fault.New(fault.Precondition, "a question is done when its human answers it")
	}
	if err := task.Move(t.Type, t.Status, in.Status); err != nil {
		return false, err
	}
	switch {
	case in.Status == task.Created:
		if t.Status == task.Failed { // all attempts are available again
			t.Attempts, t.Outcome, t.Result, t.Reason, t.CompletedAt, t.ExpiresAt = 0, "", "", "", time.Time{}, time.Time{}
			t.EndedBy = ""
		}
		t.Unclaim()
	case in.Status == task.Derezzed && t.Status.Ended(): // filed away
		ended := t.CompletedAt
		if t.End(in.Status, now); !ended.IsZero() {
			t.CompletedAt = ended
		}
	case in.Status == task.Derezzed:
		t.End(in.Status, now)
		t.CancelledBy = c.Actor()
	case in.Status.Ended():
		t.End(in.Status, now)
		t.Outcome, t.EndedBy = in.Status, c.Actor()
	case in.Status == task.Active && t.ClaimedBy == "":
		return false, fault.New(fault.Precondition, "nobody holds the task; set it to created and claim it")
	default:
		t.Status = in.Status
	}
	t.Route()
	return t.ClaimedBy == "" || t.Status.Ended(), nil
}

// moves reports whether an update changes the place of a task in the queues.
func (in UpdateInput) moves() bool { return in.Priority != "" || in.Target != "" }

// move gives a task that nobody has claimed another priority, target or both. Its creator and a human may.
func move(t *task.Task, c identity.Caller, in UpdateInput) error {
	owner := t.Owner()
	switch {
	case t.Type != task.Work && t.Type != task.Dream:
		return fault.New(fault.Precondition, "only the priority and the target of a task or a dream can be changed; this is a %s", t.Type)
	case t.Status != task.Created:
		return fault.New(fault.Precondition, "the task is %s; its priority and its target can be changed while it is created", t.Status)
	case in.Status != "" && in.Status != t.Status:
		return fault.Field("status", "must be left out with a new priority or target")
	case !owner.Is(c):
		return fault.New(fault.Forbidden, "only %s may change its priority and its target; %s", owner.Or("created the task"), c)
	}
	t.Priority, t.Target = cmp.Or(in.Priority, t.Priority), cmp.Or(in.Target, t.Target)
	t.Route()
	return nil
}

func mayChange(t *task.Task, c identity.Caller, in UpdateInput) error {
	owner := t.Owner()
	if in.Status == task.Derezzed {
		if !owner.Is(c) {
			return fault.New(fault.Forbidden, "only %s may cancel it; %s", owner.Or("created the task"), c)
		}
		return nil
	}
	claimed := t.ClaimedBy != ""
	switch {
	case claimed && !t.Status.Ended():
		return t.Held(c, task.Fence{Token: in.ClaimToken, SessionID: in.SessionID})
	case owner.Is(c), !claimed && mayClaim(t, c) == nil:
		return nil
	case claimed && identity.Same(t.ClaimedBy, c.Actor()):
		return t.Cancelled()
	}
	return fault.New(fault.Forbidden, "the task is from %s for %q; %s", owner, t.Target, c)
}
