package domaintest

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"

	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// Sent is the number of RPCs that were sent to Firestore, by method. Rollbacks are not counted, because the driver
// sends them in the background and no call waits for one. As a [Budget] it allows exactly these numbers.
type Sent struct {
	Get, Query, Commit int
	Other              int // any further method, such as Listen
}

// Total returns the number of RPCs of all methods.
func (s Sent) Total() int { return s.Get + s.Query + s.Commit + s.Other }

func (s Sent) allows(got Sent) bool { return got == s }

// String returns the total and the number of each method.
func (s Sent) String() string {
	return fmt.Sprintf("%d RPCs (%d get, %d query, %d commit, %d other)", s.Total(), s.Get, s.Query, s.Commit, s.Other)
}

// Budget limits the RPCs that a call may send to Firestore.
type Budget interface {
	fmt.Stringer
	allows(Sent) bool
}

// Exactly is a budget of exactly n RPCs, of any method.
type Exactly int

func (n Exactly) allows(got Sent) bool { return got.Total() == int(n) }

// String returns the number in words.
func (n Exactly) String() string { return fmt.Sprintf("%d RPCs", int(n)) }

// AtMost is a budget of 1 to n RPCs, of any method.
type AtMost int

func (n AtMost) allows(got Sent) bool { return got.Total() > 0 && got.Total() <= int(n) }

// String returns the range in words.
func (n AtMost) String() string { return fmt.Sprintf("1 to %d RPCs", int(n)) }

// Counter counts the RPCs that a store sends to Firestore.
type Counter struct{ sent func() map[string]int }

// RPCs opens an empty store in the emulator and returns it with a counter of its RPCs. The first attempt of a
// transaction is not made to fail. The connection is open when RPCs returns; a test fills any other cache, such as that
// of a directory, before it counts. Further dial options apply to the same connections.
func RPCs(t *testing.T, schema *store.Schema, more ...grpc.DialOption) (*store.DB, *Counter) {
	t.Helper()
	dial, sent := firestore.CountRPCs()
	d := openFirestore(t, append(dial, more...)...)
	db := open(t, d, schema)
	// The first call waits for the connection and may be sent twice.
	_, err := d.Get(t.Context(), []store.Ref{{User: "warm-up", Coll: schema.Defs()[0].Name, ID: "none"}})
	Check(t, err)
	return db, &Counter{sent: sent}
}

// Count makes a call and returns the RPCs that were sent meanwhile, those of concurrent calls included.
func (c *Counter) Count(call func()) Sent {
	before := c.total()
	call()
	after := c.total()
	return Sent{
		after.Get - before.Get,
		after.Query - before.Query,
		after.Commit - before.Commit,
		after.Other - before.Other,
	}
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

// Hold makes a call and fails the test if the RPCs that it sends are not within the budget.
func (c *Counter) Hold(t *testing.T, name string, budget Budget, call func()) {
	t.Helper()
	if got := c.Count(call); !budget.allows(got) {
		t.Errorf("%s sent %v, want %v", name, got, budget)
	}
}
