package idempotency

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

type made struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

type input struct {
	Title string            `json:"title"`
	Tags  map[string]string `json:"tags,omitempty"`
}

var (
	things = store.Collection[made]{Name: "things"}
	t0     = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	ids    atomic.Int64
)

// repeatable is a call as an operation makes it.
type repeatable struct{ caller, key, op, digest string }

func (c repeatable) Key() string       { return c.key }
func (c repeatable) Caller() string    { return c.caller }
func (c repeatable) Operation() string { return c.op }
func (c repeatable) Digest() string    { return c.digest }

// as is a call of the operation by the program alpha, with the key and the input.
func as(op, key string, in input) repeatable {
	return repeatable{"program:alpha", key, op, digest(fmt.Sprint(in))}
}

// create makes a new thing under the key, as a creating operation does.
func create(ctx context.Context, u *store.Tenant, op, key string, now time.Time, in input) (made, error) {
	m := made{ID: fmt.Sprintf("t%d", ids.Add(1)), At: now}
	return Update(ctx, u, as(op, key, in), now, func(_ context.Context, tx *store.Tx) (made, error) {
		things.Create(tx, m.ID, m)
		return m, nil
	})
}

func each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	domaintest.Each(t, store.NewSchema(Def(), things.Def()), test)
}

func count(t *testing.T, u *store.Tenant) int {
	t.Helper()
	page, err := things.Query(t.Context(), u, store.Query{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Docs)
}

func TestTheSameKeyGivesTheSameResultOnce(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		in := input{"a", map[string]string{"x": "1", "y": "2", "z": "3"}}
		first, err := create(t.Context(), u, "make", "k", t0, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, later := range []time.Duration{0, time.Minute, Kept - time.Second} {
			again, err := create(t.Context(), u, "make", "k", t0.Add(later), in)
			if err != nil || again.ID != first.ID || !again.At.Equal(first.At) {
				t.Errorf("%v later: %+v, first %+v, %v", later, again, first, err)
			}
		}
		if n := count(t, u); n != 1 {
			t.Errorf("made %d", n)
		}
	})
}

func TestAKeyWithAnotherInputIsPrecondition(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		if _, err := create(t.Context(), u, "make", "k", t0, input{Title: "a"}); err != nil {
			t.Fatal(err)
		}
		_, err := create(t.Context(), u, "make", "k", t0, input{Title: "b"})
		if !fault.Is(err, fault.Precondition) ||
			err.Error() != `idempotencyKey "k" was used for another make; take a new key for a new call` {
			t.Error(err)
		}
		if n := count(t, u); n != 1 {
			t.Errorf("made %d", n)
		}
	})
}

func TestAfterADayAKeyIsNew(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		first, err := create(t.Context(), u, "make", "k", t0, input{Title: "a"})
		if err != nil {
			t.Fatal(err)
		}
		second, err := create(t.Context(), u, "make", "k", t0.Add(Kept), input{Title: "b"})
		if err != nil || second.ID == first.ID || count(t, u) != 2 {
			t.Errorf("%+v after %+v, %v", second, first, err)
		}
		third, err := create(t.Context(), u, "make", "k", t0.Add(Kept+time.Hour), input{Title: "b"})
		if err != nil || third.ID != second.ID {
			t.Errorf("the new one is not remembered: %+v, %v", third, err)
		}
	})
}

func TestKeysOfOtherUsersAndOperationsAreApart(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		seen := map[string]bool{}
		for _, c := range []struct{ user, op, key string }{
			{"u", "make", "k"}, {"v", "make", "k"}, {"u", "makek", ""}, {"u", "mak", "ek"}, {"u", "other", "k"},
			{"u", "make", "K"}, {"u", "make", "k "},
		} {
			m, err := create(t.Context(), db.User(c.user), c.op, c.key, t0, input{Title: c.user + c.op})
			if err != nil || seen[m.ID] {
				t.Errorf("%+v: %+v, %v", c, m, err)
			}
			seen[m.ID] = true
		}
	})
}

// Nothing of a call may be read as a part of another: neither of its caller nor of its key.
func TestAttackKeysOfOtherCallersAreApart(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		seen := map[string]bool{}
		for _, c := range []repeatable{
			{caller: "program:alpha", op: "make", key: "k"}, {caller: "program:beta", op: "make", key: "k"},
			{caller: "key:alpha", op: "make", key: "k"}, {caller: "program:alpham", op: "ake", key: "k"},
			{caller: "program:alpha\x00make", op: "k", key: "k"}, {caller: "program:alpha", op: "make", key: "k\x00"},
		} {
			c.digest = "d"
			for _, again := range []bool{false, true} {
				id := fmt.Sprintf("t%d", ids.Add(1))
				m, err := Update(t.Context(), db.User("u"), c, t0, func(_ context.Context, tx *store.Tx) (made, error) {
					things.Create(tx, id, made{ID: id})
					return made{ID: id}, nil
				})
				if err != nil || seen[m.ID] != again {
					t.Errorf("%q, again %v: %+v, %v", c, again, m, err)
				}
				seen[m.ID] = true
			}
		}
	})
}

func TestWithoutAKeyEveryCallIsItsOwn(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		for range 2 {
			if _, err := create(t.Context(), db.User("u"), "make", "", t0, input{}); err != nil {
				t.Fatal(err)
			}
		}
		page, err := records.Query(t.Context(), db.User("u"), store.Query{Limit: 5})
		if err != nil || len(page.Docs) != 0 || count(t, db.User("u")) != 2 {
			t.Errorf("%d records, %v", len(page.Docs), err)
		}
	})
}

func TestAFailedCallIsNotRecorded(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		no := errors.New("no")
		_, err := Update(
			t.Context(),
			u,
			as("make", "k", input{}),
			t0,
			func(_ context.Context, tx *store.Tx) (made, error) {
				things.Create(tx, "half", made{})
				return made{}, no
			},
		)
		if !errors.Is(err, no) || count(t, u) != 0 {
			t.Fatalf("%v, %d made", err, count(t, u))
		}
		if _, err := create(t.Context(), u, "make", "k", t0, input{Title: "other"}); err != nil || count(t, u) != 1 {
			t.Errorf("%v, %d made", err, count(t, u))
		}
	})
}

func TestAKeyWithoutAnOperationIsInternal(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		for _, c := range []repeatable{
			{key: "k"}, {caller: "c", key: "k", op: "make"}, {caller: "c", key: "k", digest: "d"},
			{key: "k", op: "make", digest: "d"},
		} {
			_, err := Update(
				t.Context(),
				db.User("u"),
				c,
				t0,
				func(context.Context, *store.Tx) (made, error) { return made{}, nil },
			)
			if !fault.Is(err, fault.Internal) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

// A call that the commit refuses is no success either.
func TestACallWhoseCommitFailsIsNotRecorded(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		clash := func(_ context.Context, tx *store.Tx) (made, error) {
			things.Create(tx, "same", made{ID: "same"})
			return made{ID: "same"}, nil
		}
		if _, err := Update(t.Context(), u, as("make", "k1", input{}), t0, clash); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if m, err := Update(t.Context(), u, as("make", "k2", input{}), t0, clash); !fault.Is(err, fault.Exists) {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
}

func TestOfEightConcurrentCallsOneTakesEffect(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		u := db.User("u")
		got := make([]string, 8)
		failed := domaintest.Together(len(got), func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				m, err := create(t.Context(), u, "make", "k", t0, input{Title: "a"})
				got[i] = m.ID
				return err
			})
		})
		if len(failed) != 0 {
			t.Error(failed)
		}
		for _, id := range got {
			if id != got[0] {
				t.Errorf("the results are %q", got)
				break
			}
		}
		if n := count(t, u); n != 1 {
			t.Errorf("made %d", n)
		}
	})
}
