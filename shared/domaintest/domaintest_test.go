package domaintest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// failures is a test that keeps the failures it is told of.
type failures struct {
	testing.TB
	told []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, a ...any) {
	f.told = append(f.told, fmt.Sprintf(format, a...))
}
func (f *failures) Fatal(a ...any) { f.told = append(f.told, fmt.Sprint(a...)) }

func TestAClockStandsUntilItIsMoved(t *testing.T) {
	t.Parallel()
	var c domaintest.Clock
	reads := c.Reads()
	for range 3 {
		if now := c.Now(); now != domaintest.Start {
			t.Errorf("untouched it is %v", now)
		}
	}
	if len(reads) != 3 {
		t.Errorf("%d reads of 3 are told", len(reads))
	}
	if c.Pass(time.Minute); c.Now() != domaintest.Start.Add(time.Minute) {
		t.Errorf("a minute later it is %v", c.Now())
	}
	if c.Set(domaintest.Start); c.Now() != domaintest.Start {
		t.Errorf("set back it is %v", c.Now())
	}
	for range 1000 {
		c.Now() // nobody receives, and nothing waits
	}
}

func TestIDsCountInTheirOrder(t *testing.T) {
	t.Parallel()
	var ids domaintest.IDs
	var made []string
	for range 1200 {
		made = append(made, ids.NewID())
	}
	if !slices.IsSorted(made) || len(slices.Compact(made)) != 1200 || made[0] != "id-000001" {
		t.Errorf("%q … %q", made[0], made[1199])
	}
}

func TestChecksFailForAnyOtherResult(t *testing.T) {
	t.Parallel()
	missing := fault.New(fault.NotFound, `no task with "x"`)
	for name, c := range map[string]struct {
		check func(testing.TB)
		fails bool
	}{
		"refused": {
			func(t testing.TB) { domaintest.Refused(t, "", missing, fault.NotFound, "task", `"x"`) }, false,
		},
		"refused otherwise": {func(t testing.TB) { domaintest.Refused(t, "", missing, fault.Invalid) }, true},
		"refused in other words": {
			func(t testing.TB) { domaintest.Refused(t, "", missing, fault.NotFound, "session") }, true,
		},
		"not refused": {func(t testing.TB) { domaintest.Refused(t, "", nil, fault.NotFound) }, true},
		"says it": {
			func(t testing.TB) { domaintest.Says(t, "", missing, fault.NotFound, `no task with "x"`) }, false,
		},
		"says more": {
			func(t testing.TB) { domaintest.Says(t, "", missing, fault.NotFound, "no task") }, true,
		},
		"says nothing": {func(t testing.TB) { domaintest.Says(t, "", nil, fault.NotFound, "") }, true},
		"a result":     {func(t testing.TB) { domaintest.Must(1, nil)(t) }, false},
		"no result":    {func(t testing.TB) { domaintest.Must(1, missing)(t) }, true},
	} {
		f := &failures{TB: t}
		if c.check(f); (len(f.told) > 0) != c.fails {
			t.Errorf("%s: told of %q", name, f.told)
		}
	}
}

func TestFieldsAreThePathsOfAnInvalidInput(t *testing.T) {
	t.Parallel()
	two := fault.Problems(fault.Problem{Path: "a"}, fault.Problem{Path: "b[1].c"})
	if got := domaintest.Fields(two); got != "a b[1].c" {
		t.Errorf("%q", got)
	}
	for _, err := range []error{nil, errors.New("a"), fault.New(fault.NotFound, "a")} {
		if got := domaintest.Fields(err); !strings.HasPrefix(got, "no fields: ") {
			t.Errorf("%v: %q", err, got)
		}
	}
}

func TestARetryEndsWithTheConflict(t *testing.T) {
	t.Parallel()
	conflict := fault.New(fault.Conflict, "busy")
	calls := 0
	err := domaintest.Retry(t.Context(), func() error {
		if calls++; calls < 3 {
			return conflict
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := domaintest.Retry(ended, func() error { return conflict }); !fault.Is(err, fault.Conflict) {
		t.Errorf("after the end: %v", err)
	}
}

func TestCallsTogetherReturnTheirErrors(t *testing.T) {
	t.Parallel()
	failed := domaintest.Together(5, func(i int) error {
		if i%2 == 1 {
			return fmt.Errorf("call %d", i)
		}
		return nil
	})
	if fmt.Sprint(failed) != "[call 1 call 3]" {
		t.Errorf("%v", failed)
	}
}

type thing struct {
	N int `json:"n"`
}

var (
	things = store.Collection[thing]{Name: "things"}
	schema = store.NewSchema(things.Def())
)

// silent is a driver whose reads find nothing.
type silent struct{ store.Driver }

func (silent) Get(_ context.Context, refs []store.Ref) ([]*store.Raw, error) {
	return make([]*store.Raw, len(refs)), nil
}

func TestEachOverWrapsTheDriversOfBothStores(t *testing.T) {
	domaintest.EachOver(t, schema, func(d store.Driver) *silent { return &silent{d} },
		func(t *testing.T, db *store.DB, d *silent) {
			u := db.User("u")
			domaintest.Check(t, u.Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				things.Put(tx, "x", thing{1})
				return nil
			}))
			_, err := things.Get(t.Context(), u, "x")
			domaintest.Refused(t, "a read through it", err, fault.NotFound)
			raws, err := d.Driver.Get(t.Context(), []store.Ref{{User: "u", Coll: "things", ID: "x"}})
			if err != nil || raws[0] == nil {
				t.Errorf("the driver behind it has %v, %v", raws, err)
			}
		})
}

func TestACounterCountsAllButRollbacks(t *testing.T) {
	t.Parallel()
	db, rpcs := domaintest.RPCs(t, schema)
	u := db.User("u")
	read := func() { _, _ = things.Get(t.Context(), u, "x") }
	refuse := func() {
		_ = u.Update(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := things.Get(ctx, tx, "none")
			return err
		})
	}
	rpcs.Hold(t, "a write", domaintest.Sent{Commit: 1}, func() {
		domaintest.Check(t, u.Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			things.Put(tx, "x", thing{1})
			return nil
		}))
	})
	rpcs.Hold(t, "a read", domaintest.Sent{Get: 1}, read)
	rpcs.Hold(
		t,
		"a query",
		domaintest.Sent{Query: 1},
		func() { _, _ = things.Query(t.Context(), u, store.Query{Limit: 1}) },
	)
	rpcs.Hold(t, "a transaction that is given up", domaintest.Exactly(1), refuse)
	rpcs.Hold(t, "two reads", domaintest.AtMost(2), func() { read(); read() })
}
