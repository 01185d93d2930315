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
	if c.IsHuman() || t.Target == task.Any || mayServe(t.Target, c) || slices.ContainsFunc(t.Fallback,
		func(name string) bool { return mayServe(name, c) }) {
		return nil
	}
	return fault.New(fault.Forbidden, "the task is for %q; %s", t.Target, c)
}

// mayServe reports whether the caller may take work for a name: its own, or one that no key is bound to.
func mayServe(name string, c identity.Caller) bool {
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
	if t.ClaimedBy != "" && !t.Status.Ended() && !now.Before(lease.LeaseUntil) {
		t.GiveUp(now)
	}
	if t.Status == task.Active {
		if sessionID != "" && t.SessionID == sessionID && t.ClaimedBy == c.Actor() {
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
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt = task.Active, c.Actor(), sessionID, now
	t.ClaimToken++
	t.Route()
	return false, nil
}

// fence identifies a claim in a report: the token that the claim gave, zero if it was left out, or the session that made
// the claim.
type fence struct {
	token     int64
	sessionID string
}

// held returns nil if the caller may report on a claimed task. The claimant may, if the fence fits the claim; a bound key
// may leave the fence out as long as the claim is the task's first. A person may always. Another caller is Forbidden
// whatever token it shows; a fence that does not fit, a task that nobody holds and one that was cancelled are
// Precondition; an unbound key without a token is Invalid.
func held(t *task.Task, c identity.Caller, f fence) error {
	if t.ClaimedBy == "" {
		return fault.New(fault.Precondition, "the task is %s and nobody holds it; claim it first", t.Status)
	}
	if c.IsHuman() {
		return nil
	}
	if !identity.Same(t.ClaimedBy, c.Actor()) {
		return fault.New(fault.Forbidden, "the task is claimed by %q, and only its claimant or a human may do this; %s",
			t.ClaimedBy, c)
	}
	if t.CancelledBy != "" {
		return fault.New(fault.Precondition, "the task was cancelled by %q at %s; stop working on it", t.CancelledBy,
			t.CompletedAt.Format(time.RFC3339))
	}
	return f.check(t, c)
}

func (f fence) check(t *task.Task, c identity.Caller) error {
	switch {
	case f.token == 0 && !c.Bound():
		return fault.Field("claimToken", "is required with a key that is bound to no program")
	case f.token != 0 && f.token != t.ClaimToken:
		return fault.New(fault.Precondition, "claimToken %d is stale: the task was claimed again since", f.token)
	case f.token != 0:
		return nil
	case f.sessionID != "" && f.sessionID != t.SessionID:
		return fault.New(fault.Precondition, "the task is claimed by session %q, not by %q; give the claimToken or the "+
			"sessionId of the claim", t.SessionID, f.sessionID)
	case f.sessionID == "" && t.ClaimToken != 1:
		return fault.New(fault.Precondition, "the task was claimed %d times, so the claim must be named: give its "+
			"claimToken or its sessionId", t.ClaimToken)
	}
	return nil
}
