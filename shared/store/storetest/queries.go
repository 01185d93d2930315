package storetest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

var queue = []string{"rank desc", "createdAt"}

func undeclared(t *testing.T, db *store.DB) {
	u := db.User("u")
	for name, q := range map[string]store.Query{
		"an undeclared order":    {Order: []string{"body"}, Limit: 1},
		"an undeclared equality": {Where: []store.Cond{store.Eq("body", "x")}, Limit: 1},
		"the reverse of an index's order": {
			Where: []store.Cond{store.Eq("status", "x")},
			Order: []string{"rank desc"}, Limit: 1,
		},
		"a part of an index's order": {
			Where: []store.Cond{store.Contains("routes", "x")},
			Order: []string{"rank desc"}, Limit: 1,
		},
		"a range outside of the order":    {Where: []store.Cond{store.Eq("status", "x"), store.Gt("rank", 1)}, Limit: 1},
		"a filter with nothing to narrow": {Where: []store.Cond{store.Eq("kind", "x")}, Order: queue, Limit: 1},
		"too many combinations": {
			Where: []store.Cond{store.In("status", 1, 2, 3, 4, 5, 6), store.ContainsAny("routes", 1, 2, 3, 4, 5, 6)},
			Order: queue, Limit: 1,
		},
		"two arrays": {
			Where: []store.Cond{store.Contains("routes", "x"), store.Contains("routes", "y")},
			Order: queue, Limit: 1,
		},
		"no limit":               {},
		"a negative limit":       {Limit: -1},
		"a limit past the bound": {Limit: store.MaxLimit + 1},
	} {
		if _, err := items.Query(t.Context(), u, q); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ordered(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{
		"b": {Routes: []string{"r"}, Rank: 1, CreatedAt: t0}, "a": {Routes: []string{"r"}, Rank: 1, CreatedAt: t0},
		"late":  {Routes: []string{"r"}, Rank: 1, CreatedAt: t0.Add(time.Second)},
		"high":  {Routes: []string{"r"}, Rank: 2, CreatedAt: t0.Add(time.Hour)},
		"low":   {Routes: []string{"r"}, Rank: -1, CreatedAt: t0.Add(-time.Hour)},
		"other": {Routes: []string{"s"}, Rank: 9, CreatedAt: t0},
	})
	got := query(t, u, store.Query{Where: []store.Cond{store.Contains("routes", "r")}, Order: queue})
	if want := []string{"high", "a", "b", "late", "low"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	got = query(t, u, store.Query{})
	if want := []string{"a", "b", "high", "late", "low", "other"}; !reflect.DeepEqual(got, want) {
		t.Errorf("by id: %v", got)
	}
}

func fractions(t *testing.T, db *store.DB) {
	u := db.User("u")
	want := []string{}
	docs := map[string]item{}
	for i, d := range []time.Duration{
		-time.Second, -time.Microsecond, 0, time.Microsecond, 10 * time.Microsecond, 100 * time.Millisecond,
		999_999 * time.Microsecond, time.Second,
	} {
		id := number((i * 5) % 8) // ids in another order than times
		docs[id] = item{CreatedAt: t0.Add(d)}
		want = append(want, id)
	}
	put(t, u, docs)
	if got := query(t, u, store.Query{Order: []string{"createdAt"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	slices.Reverse(want)
	if got := query(t, u, store.Query{Order: []string{"createdAt desc"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("descending: %v, want %v", got, want)
	}
}

// find returns a query with the conditions, in the order.
func find(order []string, where ...store.Cond) store.Query {
	return store.Query{Where: where, Order: order}
}

func conditions(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{
		"1": {Status: "open", Kind: "x", Routes: []string{"a", "any"}, Rank: 3, CreatedAt: t0, Due: t0.Add(time.Hour)},
		"2": {Status: "open", Kind: "y", Routes: []string{"any"}, Rank: 2, CreatedAt: t0, Due: t0},
		"3": {Status: "done", Kind: "x", Routes: []string{"a"}, Rank: 1, CreatedAt: t0, Due: t0.Add(-time.Hour)},
		"4": {Status: "open", Kind: "x", Routes: []string{"b"}, Rank: 5, CreatedAt: t0},
		"5": {Status: "open", Kind: "x", Routes: []string{"a", "b"}, Rank: 0, CreatedAt: t0.Add(time.Minute), Due: t0},
	})
	due := []string{"rank desc", "createdAt", "due"}
	aOrAny := store.ContainsAny("routes", "a", "any")
	for name, c := range map[string]struct {
		q    store.Query
		want []string
	}{
		"one member":              {find(queue, store.Contains("routes", "a")), []string{"1", "3", "5"}},
		"any of several members":  {find(queue, store.ContainsAny("routes", "a", "any", "a")), []string{"1", "2", "3", "5"}},
		"a value and a member":    {find(queue, store.Eq("status", "open"), aOrAny), []string{"1", "2", "5"}},
		"two indexes of an order": {find(queue, store.Eq("kind", "x"), store.Eq("status", "open"), aOrAny), []string{"1", "5"}},
		"a filter of an index":    {find(queue, store.Eq("kind", "x"), store.Contains("routes", "a")), []string{"1", "3", "5"}},
		"one of several values": {find(queue, store.In("status", "open", "done", "none"), store.Contains("routes", "a")),
			[]string{"1", "3", "5"}},
		"values and members": {find(queue, store.In("status", "open", "done"), aOrAny, store.Eq("kind", "x")),
			[]string{"1", "3", "5"}},
		"one value alone":         {find([]string{"rank"}, store.In("status", "open"), store.Lt("rank", 3)), []string{"5", "2"}},
		"nothing":                 {find(nil, store.Eq("status", "none")), []string{}},
		"a range behind an order": {find(due, aOrAny, store.Le("due", t0)), []string{"2", "3", "5"}},
		"less":                    {find([]string{"rank"}, store.Eq("status", "open"), store.Lt("rank", 3)), []string{"5", "2"}},
		"at most": {find([]string{"rank"}, store.Eq("status", "open"), store.Le("rank", 3)),
			[]string{"5", "2", "1"}},
		"more":     {find([]string{"rank"}, store.Eq("status", "open"), store.Gt("rank", 3)), []string{"4"}},
		"at least": {find([]string{"rank"}, store.Eq("status", "open"), store.Ge("rank", 3)), []string{"1", "4"}},
		"between": {find([]string{"createdAt desc"}, store.Ge("createdAt", t0), store.Lt("createdAt", t0.Add(time.Minute))),
			[]string{"4", "3", "2", "1"}},
		"another type": {find([]string{"createdAt"}, store.Ge("createdAt", 0)), []string{}},
	} {
		if got := query(t, u, c.q); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	// A query has the same result inside a transaction.
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		if got := query(t, tx, find(queue, store.Contains("routes", "a"))); len(got) != 3 {
			t.Errorf("in a transaction: %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func paging(t *testing.T, db *store.DB) {
	u := db.User("u")
	docs := map[string]item{}
	for i := range 23 {
		made := t0.Add(time.Duration(i%3) * time.Microsecond)
		docs[number(i)] = item{Status: "s", Routes: []string{"a", "b"}, Rank: i / 5, CreatedAt: made}
	}
	put(t, u, docs)
	for _, q := range []store.Query{
		{},
		{Order: []string{"createdAt desc"}},
		{Where: []store.Cond{store.Eq("status", "s")}},
		{Where: []store.Cond{store.ContainsAny("routes", "a", "b"), store.Eq("status", "s")}, Order: queue},
		{Where: []store.Cond{store.ContainsAny("routes", "a", "b"), store.In("status", "s", "t")}, Order: queue},
	} {
		want := query(t, u, q)
		if len(want) != 23 {
			t.Fatalf("%+v finds %d", q, len(want))
		}
		var got []string
		for q.Limit = 4; ; {
			page, err := items.Query(t.Context(), u, q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(page)...)
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: pages %v, whole %v", q, got, want)
		}
	}
}

func cursors(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"1": {Status: "s"}, "2": {Status: "s"}, "3": {Status: "t"}})
	put(t, db.User("v"), map[string]item{"1": {Status: "s"}, "2": {Status: "s"}})
	q := store.Query{Where: []store.Cond{store.Eq("status", "s")}, Limit: 1}
	page, err := items.Query(t.Context(), u, q)
	if err != nil || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	q.Cursor = page.Next
	if got := query(t, u, q); !reflect.DeepEqual(got, []string{"2"}) {
		t.Errorf("its own cursor: %v", got)
	}
	other := q
	other.Where = []store.Cond{store.Eq("status", "t")}
	if _, err := items.Query(t.Context(), u, other); !fault.Is(err, fault.Invalid) {
		t.Errorf("another query's: %v", err)
	}
	if _, err := items.Query(t.Context(), db.User("v"), q); !fault.Is(err, fault.Invalid) {
		t.Errorf("another user's: %v", err)
	}
	for _, bad := range []string{"x", "!!", "e30", page.Next + "A", page.Next[1:]} {
		q.Cursor = bad
		if _, err := items.Query(t.Context(), u, q); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func bulkDelete(t *testing.T, db *store.DB) {
	u := db.User("u")
	docs := map[string]item{}
	for i := range 250 {
		docs[number(i)] = item{Status: "old"}
	}
	docs["kept"] = item{Status: "new"}
	put(t, u, docs)
	total := 0
	for {
		n, err := items.DeleteWhere(t.Context(), u, store.Query{Where: []store.Cond{store.Eq("status", "old")}, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n < 100 {
			break
		}
	}
	if left := query(t, u, store.Query{}); total != 250 || !reflect.DeepEqual(left, []string{"kept"}) {
		t.Fatalf("%d deleted, %v left", total, left)
	}
}
