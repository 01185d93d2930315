package task

import (
	"fmt"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Lease is how long a claim holds, in a document named after its task: it beats
// often, and must wake nobody who follows the task.
type Lease struct {
	ClaimToken int64     `json:"claimToken"`
	ClaimedBy  string    `json:"claimedBy"`
	SessionID  string    `json:"sessionId,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil"`
}

// Leases is the collection. The claims of a session are found by it, those that
// ran out by their time.
var Leases = store.Collection[Lease]{Name: "leases", Indexes: []string{"sessionId"}, AllUsers: []string{"leaseUntil"}}

// Claimant names who holds a claim: the key's program, or for an unbound key the key.
func Claimant(c identity.Caller) string {
	if c.Bound() {
		return c.Program
	}
	return "key:" + c.KeyID[:min(12, len(c.KeyID))]
}

// Claim is a task that was taken up. Same says that the claimant had it already.
type Claim struct {
	ID         string
	Task       Task
	LeaseUntil time.Time
	Same       bool
}

// MaxAttempts is how often a task's lease may run out before the task has failed.
const MaxAttempts = 5

// GiveUp takes a task from a claimant whose lease ran out: back to created, or to
// failed after MaxAttempts and where its lifecycle has no way back.
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
	if t.Sprint != nil { // a story is kept as long as its sprint
		t.Sprint.Ended, t.PurgeAt = true, time.Time{}
	}
	t.Route()
}

// Unclaim puts a task back among those that nobody has taken up.
func (t *Task) Unclaim() {
	t.Status, t.ClaimedBy, t.SessionID, t.StartedAt, t.Reason = Created, "", "", time.Time{}, ""
	t.Route()
}
