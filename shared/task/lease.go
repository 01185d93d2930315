package task

import (
	"fmt"
	"time"

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
var Leases = store.Collection[Lease]{Name: "leases", Indexes: []string{"sessionId"}, AllUsers: []string{"leaseUntil"}}

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
