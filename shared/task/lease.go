package task

import (
	"errors"
	"fmt"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Lease is the term of a claim. Its document has the id of its task. It is separate from the
// task because it is renewed often, and a renewal must not wake calls that wait for the task.
type Lease struct {
	ClaimToken int64     `json:"claimToken"`
	ClaimedBy  string    `json:"claimedBy"`
	SessionID  string    `json:"sessionId,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil"`
}

// Leases is the collection of leases. Queries find the claims of a session, and for all users
// the leases that have run out.
var Leases = store.Collection[Lease]{Name: "leases", PartOf: "a task",
	Indexes: []string{"sessionId"}, AllUsers: []string{"leaseUntil"}}

// Claim is a task that was taken up.
type Claim struct {
	ID         string
	Task       Task
	LeaseUntil time.Time
	Same       bool // the claimant held the task before the call
}

// MaxAttempts is the number of leases that may run out before a task has failed.
const MaxAttempts = 5

// GiveUp takes a task from a claimant whose lease has run out. The task becomes created again,
// or failed if this was attempt MaxAttempts or its lifecycle has no way back to created.
func (t *Task) GiveUp(now time.Time) {
	t.Attempts++
	by, back := t.ClaimedBy, Move(t.Type, t.Status, Created) == nil
	t.Unclaim()
	if back && t.Attempts < MaxAttempts {
		return
	}
	t.Reason = fmt.Sprintf("the lease ran out %d times, last with %s", t.Attempts, by)
	t.Outcome = Failed
	t.End(Failed, now)
	if t.Sprint != nil { // the sprint sets the purge time of its stories
		t.Sprint.Ended, t.PurgeAt = true, time.Time{}
	}
	t.Route()
}

// Unclaim removes the claim of a task and makes it created again.
func (t *Task) Unclaim() {
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt, t.Reason = Created, "", "", time.Time{}, ""
	t.Route()
}

// Fence names a claim in a report on its task: by the token that the claim gave, zero if it was left out, or by the
// session that made the claim.
type Fence struct {
	Token     int64
	SessionID string
}

// Names reports whether the fence names the current claim of a task.
func (f Fence) Names(t *Task) bool {
	if f.Token != 0 {
		return f.Token == t.ClaimToken
	}
	return f.SessionID != "" && identity.SameSession(t.ClaimedBy, f.SessionID, t.SessionID)
}

// Cancelled returns Precondition with the canceller of a task that was cancelled, else nil.
func (t *Task) Cancelled() error {
	if t.CancelledBy == "" {
		return nil
	}
	return fault.New(fault.Precondition, "the task was cancelled by %q at %s; stop working on it", t.CancelledBy,
		t.CompletedAt.Format(time.RFC3339))
}

// Held returns nil if the caller may report on a claimed task. The claimant may, if the fence names the claim; a bound key
// may leave the fence out as long as the claim is the task's first. A person may always. Another caller is Forbidden
// whatever token it shows. A fence that names another claim, a task that nobody holds and one that was cancelled are
// Precondition; an unbound key without a token is Invalid.
func (t *Task) Held(c identity.Caller, f Fence) error {
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
	if err := t.Cancelled(); err != nil {
		return err
	}
	switch {
	case f.Token == 0 && !c.Bound():
		return fault.Field("claimToken", "is required with a key that is bound to no program")
	case f.Token != 0 && f.Token != t.ClaimToken:
		return fault.New(fault.Precondition, "claimToken %d is stale: the task was claimed again since", f.Token)
	case f.Token != 0:
		return nil
	case f.SessionID != "" && !identity.SameSession(t.ClaimedBy, f.SessionID, t.SessionID):
		return fault.New(fault.Precondition, "the task is claimed by session %q, not by %q; give the claimToken or the "+
			"sessionId of the claim", t.SessionID, f.SessionID)
	case f.SessionID == "" && t.ClaimToken != 1:
		return fault.New(fault.Precondition, "the task was claimed %d times, so the claim must be named: give its "+
			"claimToken or its sessionId", t.ClaimToken)
	}
	return nil
}

// ErrSessionOver is the cause of the faults that SessionOver returns.
var ErrSessionOver = errors.New("the session has ended")

// SessionOver returns the fault about a claim of a session that has ended.
func SessionOver(session string) error {
	return fault.Wrap(fault.Precondition, ErrSessionOver, "the session %q has ended; claim in one that is live, or without sessionId",
		session)
}
