package domaintest

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"

	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Sent is how many RPCs were sent to Firestore, by method. Rollbacks are none of
// them: the driver sends them behind the call, and nobody waits for one. As a
// [Budget] it allows exactly itself.
type Sent struct {
	Get, Query, Commit int
	Other              int // any further method, such as Listen
}

// Total is the RPCs of all methods.
func (s Sent) Total() int { return s.Get + s.Query + s.Commit + s.Other }

func (s Sent) allows(got Sent) bool { return got == s }

// String names the methods that were called.
func (s Sent) String() string {
	return fmt.Sprintf("%d RPCs (%d get, %d query, %d commit, %d other)", s.Total(), s.Get, s.Query, s.Commit, s.Other)
}

// Budget is what a call may send to Firestore.
type Budget interface {
	fmt.Stringer
	allows(Sent) bool
}

// Exactly is a budget of n RPCs, of whichever methods.
type Exactly int

func (n Exactly) allows(got Sent) bool { return got.Total() == int(n) }

// String says the number.
func (n Exactly) String() string { return fmt.Sprintf("%d RPCs", int(n)) }

// AtMost is a budget of 1 to n RPCs, of whichever methods.
type AtMost int

func (n AtMost) allows(got Sent) bool { return got.Total() > 0 && got.Total() <= int(n) }

// String says the bound.
func (n AtMost) String() string { return fmt.Sprintf("1 to %d RPCs", int(n)) }

// Counter counts the RPCs that a store sends to Firestore.
type Counter struct{ sent func() map[string]int }

// RPCs is an empty store in the emulator whose RPCs are counted, and their
// counter. Transactions' first attempts count. More dial options may look at the
// same connections. The connection stands when RPCs returns; whatever else is to be
// warm before it is counted, such as a cache, the test calls first.
func RPCs(t *testing.T, schema *store.Schema, more ...grpc.DialOption) (*store.DB, *Counter) {
	t.Helper()
	dial, sent := firestore.CountRPCs()
	d := openFirestore(t, append(dial, more...)...)
	db := open(t, d, schema)
	// The first call waits for the connection, and might be sent twice.
	_, err := d.Get(t.Context(), []store.Ref{{User: "warm-up", Coll: schema.Defs()[0].Name, ID: "none"}})
	Check(t, err)
	return db, &Counter{sent: sent}
}

// Count is what a call sent. Calls at the same time are counted with it.
func (c *Counter) Count(call func()) Sent {
	before := c.total()
	call()
	after := c.total()
	return Sent{after.Get - before.Get, after.Query - before.Query, after.Commit - before.Commit, after.Other - before.Other}
}

func (c *Counter) total() (s Sent) {
	for method, n := range c.sent() {
		switch method {
		case "BatchGetDocuments":
			s.Get += n
		case "RunQuery":
			s.Query += n
		case "Commit":
			s.Commit += n
		case "Rollback":
		default:
			s.Other += n
		}
	}
	return s
}

// Hold makes a call and holds what it sends to the budget.
func (c *Counter) Hold(t *testing.T, name string, budget Budget, call func()) {
	t.Helper()
	if got := c.Count(call); !budget.allows(got) {
		t.Errorf("%s sent %v, want %v", name, got, budget)
	}
}
