package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

type ctx = context.Context

func keeps(t *testing.T, db *store.DB) {
	in := rich{
		item: item{Status: "a", Routes: []string{}, CreatedAt: t0},
		Text: "line\n\"quoted\" \\ ünïcödé \u2028 \x01", Whole: 1<<53 - 1, Part: 3, Yes: true, At: t0.Add(123456789),
		List: []inner{{"x", t0}, {"", t0.Add(time.Microsecond)}}, Map: map[string]inner{"$t": {"k", t0}, "a.b": {"dot", t0}},
		Pointer: &inner{"p", t0}, Raw: json.RawMessage(`{"a":[[1,2],[3]]}`), Floats: map[string]float64{"half": .5, "big": 1e300},
	}
	u := db.User("u1")
	if err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { riches.Create(tx, "r", in); return nil }); err != nil {
		t.Fatal(err)
	}
	out, err := riches.Get(t.Context(), u, "r")
	if err != nil {
		t.Fatal(err)
	}
	in.At = in.At.Truncate(time.Microsecond)
	if !reflect.DeepEqual(in, out) {
		t.Fatalf("got  %+v\nwant %+v", out, in)
	}
	if _, err := riches.Get(t.Context(), u, "missing"); !fault.Is(err, fault.NotFound) {
		t.Fatalf("a missing document: %v", err)
	}
	var one, two rich
	f1, f2 := riches.Fetch("r", &one), riches.Fetch("none", &two)
	if err := store.Load(t.Context(), u, f1, f2); err != nil || !f1.Found || f2.Found || one.Text != in.Text {
		t.Fatalf("load: %v, %v, %v", err, f1.Found, f2.Found)
	}
}

func tenancy(t *testing.T, db *store.DB) {
	a, b := db.User("a"), db.User("b")
	put(t, a, map[string]item{"x": {Status: "mine", Routes: []string{"r"}}})
	if _, err := items.Get(t.Context(), b, "x"); !fault.Is(err, fault.NotFound) {
		t.Fatalf("another user's document: %v", err)
	}
	if got := query(t, b, store.Query{}); len(got) != 0 {
		t.Fatalf("another user's list: %v", got)
	}
	if got := query(t, b, store.Query{Where: []store.Cond{store.Eq("status", "mine")}}); len(got) != 0 {
		t.Fatalf("another user's query: %v", got)
	}
	put(t, b, map[string]item{"x": {Status: "theirs"}})
	if v, err := items.Get(t.Context(), a, "x"); err != nil || v.Status != "mine" {
		t.Fatalf("overwritten by another user: %+v, %v", v, err)
	}
	for _, bad := range []string{"", "a/b", "..", "_x", "a*"} {
		if _, err := items.Get(t.Context(), db.User(bad), "x"); !fault.Is(err, fault.Internal) {
			t.Errorf("user %q: %v", bad, err)
		}
	}
}

func readsFirst(t *testing.T, db *store.DB) {
	u := db.User("u")
	err := u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
		items.Put(tx, "a", item{})
		_, err := items.Query(c, tx, store.Query{Limit: 1})
		return err
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("a read after a write: %v", err)
	}
	err = u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
		_, err := items.Query(c, u, store.Query{Limit: 1})
		return err
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("a read outside of the transaction: %v", err)
	}
	err = u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
		return u.Update(c, func(ctx, *store.Tx) error { return nil })
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("a transaction in a transaction: %v", err)
	}
	err = u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
		items.Put(tx, "a", item{})
		items.Delete(tx, "a")
		return nil
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("two writes to one document: %v", err)
	}
	err = u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		items.Patch(tx, "a", store.Set(store.ChangedField, t0))
		return nil
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("the driver's own field: %v", err)
	}
}

func allOrNothing(t *testing.T, db *store.DB) {
	u := db.User("u")
	boom := fault.New(fault.Precondition, "no")
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		items.Put(tx, "a", item{})
		return boom
	})
	if !fault.Is(err, fault.Precondition) {
		t.Fatalf("the function's error: %v", err)
	}
	put(t, u, map[string]item{"there": {}})
	err = u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		items.Create(tx, "new", item{})
		items.Create(tx, "there", item{})
		return nil
	})
	if !fault.Is(err, fault.Exists) {
		t.Fatalf("creating an existing document: %v", err)
	}
	if got := query(t, u, store.Query{}); !reflect.DeepEqual(got, []string{"there"}) {
		t.Fatalf("left behind: %v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = u.Update(ended, func(_ ctx, tx *store.Tx) error { items.Put(tx, "late", item{}); return nil })
	if !fault.Is(err, fault.Unavailable) {
		t.Fatalf("with an ended context: %v", err)
	}
}

func preconditions(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"there": {Status: "old"}})
	for name, c := range map[string]struct {
		write func(*store.Tx)
		want  fault.Kind
	}{
		"create an existing document": {func(tx *store.Tx) { items.Create(tx, "there", item{}) }, fault.Exists},
		"patch a missing document":    {func(tx *store.Tx) { items.Patch(tx, "none", store.Set("status", "x")) }, fault.NotFound},
		"add to a missing document":   {func(tx *store.Tx) { items.Patch(tx, "none", store.Add("count", 1)) }, fault.NotFound},
	} {
		err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { c.write(tx); return nil })
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { items.Delete(tx, "none"); return nil }); err != nil {
		t.Errorf("delete a missing document: %v", err)
	}
	if v, err := items.Get(t.Context(), u, "there"); err != nil || v.Status != "old" {
		t.Errorf("changed: %+v, %v", v, err)
	}
}

func patches(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"a": {Status: "s", Body: "b", Kind: "k", Count: 1}})
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		items.Patch(tx, "a", store.Set("status", "t"), store.Set("createdAt", t0),
			store.Add("count", 41), store.Add("next", 3), store.Unset("body"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := items.Get(t.Context(), u, "a")
	want := item{Status: "t", Kind: "k", Count: 42, Next: 3, CreatedAt: t0, Routes: []string{}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got := query(t, u, store.Query{Where: []store.Cond{store.Eq("status", "s")}}); len(got) != 0 {
		t.Fatalf("still found by its old value: %v", got)
	}
	if got := query(t, u, store.Query{Where: []store.Cond{store.Eq("status", "t")}}); len(got) != 1 {
		t.Fatalf("not found by its new value: %v", got)
	}
}

func tooLarge(t *testing.T, db *store.DB) {
	u := db.User("u")
	write := func(n int) error {
		return u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
			items.Put(tx, "small", item{})
			items.Put(tx, "big", item{Body: strings.Repeat("x", n)})
			return nil
		})
	}
	if err := write(store.MaxDocument); !fault.Is(err, fault.Invalid) {
		t.Errorf("1 MiB of text: %v", err)
	}
	if got := query(t, u, store.Query{}); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if err := write(store.MaxDocument - 1024); err != nil {
		t.Errorf("a little less: %v", err)
	}
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		items.Patch(tx, "big", store.Set("kind", strings.Repeat("x", 2048)))
		return nil
	})
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("grown past the limit: %v", err)
	}
}

func badIDs(t *testing.T, db *store.DB) {
	u := db.User("u")
	for _, id := range []string{"", ".", "..", "a/b", "__x__", "a\x00b", "*", "\xff", strings.Repeat("x", store.MaxID+1)} {
		if _, err := items.Get(t.Context(), u, id); !fault.Is(err, fault.Invalid) {
			t.Errorf("get %.20q: %v", id, err)
		}
		err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { items.Put(tx, id, item{}); return nil })
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("put %.20q: %v", id, err)
		}
	}
	odd := "A~ ü:?#[x]@!$&'()+,;=%"
	put(t, u, map[string]item{odd: {Status: "x"}})
	if v, err := items.Get(t.Context(), u, odd); err != nil || v.Status != "x" {
		t.Errorf("an odd id: %v", err)
	}
}

func below(t *testing.T, db *store.DB) {
	u := db.User("u")
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		messages.Under("a").Put(tx, "1", item{Next: 1})
		messages.Under("b").Put(tx, "1", item{Next: 2})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := messages.Under("b").Query(t.Context(), u, store.Query{Order: []string{"next"}, Limit: 9})
	if err != nil || len(page.Docs) != 1 || page.Docs[0].Value.Next != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := messages.Get(t.Context(), u, "1"); !fault.Is(err, fault.Internal) {
		t.Errorf("without its parent: %v", err)
	}
	if _, err := messages.Under("a/b").Get(t.Context(), u, "1"); !fault.Is(err, fault.Invalid) {
		t.Errorf("with a path for a parent: %v", err)
	}
}

func allUsers(t *testing.T, db *store.DB) {
	for i, user := range []string{"a", "b", "c"} {
		docs := map[string]item{"x": {Due: t0.Add(time.Duration(i))}, "none": {}, "y": {Due: t0.Add(time.Hour)}}
		put(t, db.User(user), docs)
		err := db.User(user).Update(t.Context(), func(_ ctx, tx *store.Tx) error {
			messages.Under("p").Put(tx, "m", item{Status: "open", CreatedAt: t0})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	q := store.Query{Where: []store.Cond{store.Lt("due", t0.Add(time.Minute))}, Order: []string{"due"}, Limit: 2}
	var got []string
	for {
		docs, next, err := items.QueryAll(t.Context(), store.NewAdmin(db), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			got = append(got, d.Ref.User+"/"+d.Ref.Coll+"/"+d.Ref.ID)
		}
		if next == "" {
			break
		}
		q.Cursor = next
	}
	if want := []string{"a/items/x", "b/items/x", "c/items/x"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v", got)
	}
	open := store.Query{Where: []store.Cond{store.Eq("status", "open")}, Order: []string{"createdAt"}, Limit: 9}
	docs, _, err := messages.QueryAll(t.Context(), store.NewAdmin(db), open)
	if err != nil || len(docs) != 3 || docs[0].Ref != (store.Ref{User: "a", Coll: "items/p/messages", ID: "m"}) {
		t.Fatalf("below documents: %+v, %v", docs, err)
	}
	single := store.Query{Where: []store.Cond{store.Eq("status", "x")}, Limit: 1}
	if _, _, err := items.QueryAll(t.Context(), store.NewAdmin(db), single); !fault.Is(err, fault.Internal) {
		t.Errorf("by an index of one user's: %v", err)
	}
}
