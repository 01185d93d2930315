package app

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// The stores keep microseconds, so a document that was read is equal to the one that was written only if its times have
// no more.
func TestAReadIsUndoneWhateverThePrecisionOfTheClock(t *testing.T) {
	t.Parallel()
	storetest.Each(t, Schema(), func(t *testing.T, db *store.DB) {
		now := time.Now().Truncate(time.Microsecond)
		a := New(db, Ports{Now: func() time.Time {
			now = now.Add(time.Millisecond + time.Nanosecond)
			return now
		}})
		_, err := a.Relay.Send(t.Context(), domaintest.Human("u"),
			op.Fill(relay.SendInput{Message: "hello", Target: "beta", MessageType: "QUERY"}))
		domaintest.Check(t, err)
		catalogue := op.NewCatalogue(a.Relay.Operations())
		read := catalogue.Ops()[1]
		for range 2 {
			res, err := catalogue.Call(t.Context(), read, op.Call{Caller: beta, Input: op.Parse([]byte(`{}`))})
			domaintest.Check(t, err)
			if !res.Consumed() {
				t.Fatalf("nothing was read: %s", res.Data)
			}
			domaintest.Check(t, res.Undelivered(t.Context()))
		}
	})
}
