package task

import (
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
