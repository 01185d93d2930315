package dispatch

import (
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Defs declares the collections of the queue.
func (*Service) Defs() []*store.Def { return []*store.Def{task.Tasks.Def(), task.Leases.Def()} }

// mayClaim returns Precondition for a type of task that is not claimed, and Forbidden if the task is
// for other programs than the caller's.
func mayClaim(t *task.Task, c identity.Caller) error {
	switch t.Type {
	case task.Work, task.Dream:
	case task.Story:
		return fault.New(fault.Precondition, "a story is taken up with update_sprint_story, status active")
	default:
		return fault.New(fault.Precondition, "a %s is not claimed", t.Type)
	}
	if mayServe(t.Target, c) || slices.ContainsFunc(t.Fallback, func(name string) bool { return mayServe(name, c) }) {
		return nil
	}
	return fault.New(fault.Forbidden, "the task is for %q; %s", t.Target, c)
}

// mayServe reports whether the caller may take work for a name: its own, task.Any, or one that no key is bound to. A
// person may take all.
func mayServe(name string, c identity.Caller) bool {
	if c.IsHuman() || identity.Same(name, task.Any) {
		return true
	}
	if c.Bound() {
		return identity.Same(name, c.Program)
	}
	return c.MayName(name) == nil
}

// claim gives the task to the caller; same reports whether the caller's session held it before. A
// task that is claimed, has expired or is not created is Precondition.
func claim(t *task.Task, lease task.Lease, c identity.Caller, sessionID string, now time.Time) (same bool, err error) {
	if err := mayClaim(t, c); err != nil {
		return false, err
	}
	if !c.Bound() {
		c.ActsAs = append(slices.Clone(c.ActsAs), t.Target)
	}
	if err := c.Paused("", t.ProjectID); err != nil {
		return false, err
	}
	if t.ClaimedBy != "" && !t.Status.Ended() && !now.Before(lease.LeaseUntil) {
		t.GiveUp(now)
	}
	if t.Status == task.Active {
		if sessionID != "" && identity.SameSession(t.ClaimedBy, t.SessionID, sessionID) &&
			identity.Same(t.ClaimedBy, c.Actor()) {
			return true, nil
		}
		return false, fault.New(
			fault.Precondition,
			"the task is claimed by %q until %s",
			t.ClaimedBy,
			lease.LeaseUntil.Format(time.RFC3339),
		)
	}
	if err := t.Cancelled(); err != nil {
		return false, err
	}
	if t.Status != task.Created {
		return false, fault.New(fault.Precondition, "the task is %s; only a created one can be claimed", t.Status)
	}
	if t.Expired(now) {
		return false, fault.New(fault.Precondition, "the task expired at %s", t.ExpiresAt.Format(time.RFC3339))
	}
	if err := task.Move(t.Type, t.Status, task.Active); err != nil {
		return false, err
	}
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt = task.Active, c.Actor(), sessionID, now
	t.ClaimToken++
	t.Route()
	return false, nil
}
