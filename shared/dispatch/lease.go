package dispatch

import (
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
	if !c.Bound() || t.Target == task.Any || t.Target == c.Program {
		return nil
	}
	for _, f := range t.Fallback {
		if f == c.Program {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "the task is for %q; this key speaks for %q", t.Target, c.Program)
}

// claim gives the task to the caller; same reports whether the caller's session held it before. A
// task that is claimed, has expired or is not created is Precondition.
func claim(t *task.Task, lease task.Lease, c identity.Caller, sessionID string, now time.Time) (same bool, err error) {
	if err := mayClaim(t, c); err != nil {
		return false, err
	}
	if t.ClaimedBy != "" && !t.Status.Ended() && !now.Before(lease.LeaseUntil) {
		t.GiveUp(now)
	}
	if t.Status == task.Active {
		if sessionID != "" && t.SessionID == sessionID && t.ClaimedBy == task.Claimant(c) {
			return true, nil
		}
		return false, fault.New(
			fault.Precondition,
			"the task is claimed by %q until %s",
			t.ClaimedBy,
			lease.LeaseUntil.Format(time.RFC3339),
		)
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
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt = task.Active, task.Claimant(c), sessionID, now
	t.ClaimToken++
	t.Route()
	return false, nil
}

// held returns nil if the caller holds the claim with that token. Token zero means that the token was
// left out, which only the claiming program may do. A stale token is Precondition.
func held(t *task.Task, c identity.Caller, token int64) error {
	if t.ClaimedBy == "" {
		return fault.New(fault.Precondition, "the task is %s and nobody holds it; claim it first", t.Status)
	}
	if token == 0 {
		if c.Bound() && c.Program == t.ClaimedBy {
			return nil
		}
		if !c.Bound() {
			return fault.Field("claimToken", "is required with a key that is bound to no program")
		}
		return fault.New(fault.Precondition, "the task is claimed by %q; another program needs its claimToken", t.ClaimedBy)
	}
	if token != t.ClaimToken {
		return fault.New(fault.Precondition, "claimToken %d is stale: the task was claimed again since", token)
	}
	return nil
}
