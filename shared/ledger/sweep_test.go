package ledger

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func (b *book) sweep(limit int) int {
	b.t.Helper()
	n, err := b.SweepLedger(b.t.Context(), store.NewAdmin(b.DB), limit)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestASweepDeletesOldRecordsAndKeepsTheTotals(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.Record(use(alpha, "tool"))
		// The newest record of a batch sets its purge time.
		b.Record(use(alpha, "tool", func(u *op.Usage) { u.At = domaintest.Start.Add(time.Hour) }))
		b.flush()
		b.Record(use(alpha, "tool", func(u *op.Usage) { u.At = domaintest.Start.Add(2 * time.Hour) }))
		b.flush()
		b.Pass(Retention + time.Hour - time.Microsecond)
		if n := b.sweep(10); n != 0 || len(b.batches("u")) != 2 {
			t.Errorf("deleted %d before their time", n)
		}
		b.Pass(time.Microsecond)
		if n := b.sweep(10); n != 1 {
			t.Errorf("deleted %d", n)
		}
		if left := b.records("u"); len(left) != 1 || !left[0].At.Equal(domaintest.Start.Add(2*time.Hour)) {
			t.Errorf("left %+v", left)
		}
		if n := b.sweep(10); n != 0 {
			t.Errorf("deleted %d again", n)
		}
		if got := b.groups(alpha, UsageInput{From: "2026-03-01"}); got != "tool=3" {
			t.Errorf("the totals are %s", got)
		}
	})
}

func TestASweepIsBoundedAndContinues(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for range 3 {
			b.Record(use(alpha, "tool"))
			b.Record(use(by("v", ""), "tool"))
			b.flush()
		}
		b.Pass(Retention)
		for i, want := range []int{4, 2, 0} {
			if n := b.sweep(4); n != want {
				t.Errorf("run %d deleted %d, want %d", i, n, want)
			}
		}
		if len(b.batches("u"))+len(b.batches("v")) != 0 {
			t.Error("some are left")
		}
	})
}

func TestASweepThatFailsForOneUserReportsItAndCanBeRepeated(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		for _, user := range []string{"u", "v"} {
			b.Record(use(by(user, ""), "tool"))
		}
		b.flush()
		b.Pass(Retention)
		failing := d.updates.Load() + 1
		d.then = func(n int64) (error, bool) {
			if n == failing {
				return errDown, false
			}
			return nil, true
		}
		n, err := b.SweepLedger(t.Context(), store.NewAdmin(b.DB), 10)
		if n != 1 || err == nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if n := b.sweep(10); n != 1 {
			t.Errorf("then deleted %d", n)
		}
	})
}

func TestRecordsWrittenDuringASweepAreKept(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		b.Record(use(alpha, "old"))
		b.flush()
		b.Pass(Retention)
		d.then = func(int64) (error, bool) { // between the listing and the deletion
			d.then = nil
			b.Record(use(alpha, "new", func(u *op.Usage) { u.At = b.Clock.Now() }))
			b.flush()
			return nil, true
		}
		if n := b.sweep(10); n != 1 {
			t.Errorf("deleted %d", n)
		}
		if left := b.records("u"); len(left) != 1 || left[0].Tool != "new" {
			t.Errorf("left %+v", left)
		}
	})
}
