package storetest

import (
	"fmt"
	"slices"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// fill gives each user documents in every collection, more than one page of them, and returns their sorted paths.
func fill(t *testing.T, db *store.DB, users ...string) (all []string) {
	t.Helper()
	for _, user := range users {
		docs := map[string]item{}
		for i := range 320 {
			docs["i"+number(i)] = item{Status: "created", Routes: []string{"a", "b"}, Due: t0, Body: user}
			all = append(all, "items/i"+number(i))
		}
		put(t, db.User(user), docs)
		err := db.User(user).Update(t.Context(), func(_ ctx, tx *store.Tx) error {
			riches.Put(tx, "r", rich{Text: "of " + user, At: t0})
			messages.Under("i000").Put(tx, "m", item{Status: "s", CreatedAt: t0})
			messages.Under("no-such-item").Put(tx, "m", item{Status: "s", CreatedAt: t0})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all = append(all[:320:320], "riches/r", "items/i000/messages/m", "items/no-such-item/messages/m")
	slices.Sort(all)
	return all
}

// walked returns the sorted paths of the documents that a walk of a user finds.
func walked(t *testing.T, a *store.Admin, user string) []string {
	t.Helper()
	found := []string{}
	err := a.Walk(t.Context(), user, func(page []store.Raw) error {
		for _, raw := range page {
			if raw.Ref.User != user || len(raw.Fields) == 0 {
				t.Errorf("%+v", raw)
			}
			if raw.Ref.Coll == "riches" && raw.Fields["text"] != "of "+user {
				t.Errorf("%+v", raw.Fields)
			}
			found = append(found, raw.Ref.Coll+"/"+raw.Ref.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func walks(t *testing.T, db *store.DB) {
	a, want := store.NewAdmin(db), fill(t, db, "u", "u2")
	for _, user := range []string{"u", "u2"} {
		if got := walked(t, a, user); !slices.Equal(got, want) {
			t.Errorf("%s: %d documents, want %d: %v", user, len(got), len(want), got)
		}
	}
	if got := walked(t, a, "nobody"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	stop, pages := fmt.Errorf("enough"), 0
	if err := a.Walk(t.Context(), "u", func([]store.Raw) error { pages++; return stop }); err != stop || pages != 1 {
		t.Errorf("%v after %d pages", err, pages)
	}
	for _, user := range []string{"", "a/b", "__x__"} {
		if err := a.Walk(t.Context(), user, func([]store.Raw) error { return nil }); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", user, err)
		}
		if _, err := a.Erase(t.Context(), user); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", user, err)
		}
	}
}

func erases(t *testing.T, db *store.DB) {
	a, want := store.NewAdmin(db), fill(t, db, "u", "u2")
	if n, err := a.Erase(t.Context(), "u"); n != len(want) || err != nil {
		t.Errorf("%d, want %d, %v", n, len(want), err)
	}
	if got := walked(t, a, "u"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := walked(t, a, "u2"); !slices.Equal(got, want) {
		t.Errorf("another user has %d documents left", len(got))
	}
	q := store.Query{Where: []store.Cond{store.Eq("status", "created")}, Limit: 5}
	if page, err := items.Query(t.Context(), db.User("u"), q); err != nil || len(page.Docs) != 0 {
		t.Errorf("an index still leads to %v, %v", ids(page), err)
	}
	all := store.Query{Where: []store.Cond{store.Le("due", t0)}, Order: []string{"due"}, Limit: 500}
	docs, _, err := items.QueryAll(t.Context(), a, all)
	if err != nil || len(docs) != 320 {
		t.Errorf("over all users there are %d, %v", len(docs), err)
	}
	if n, err := a.Erase(t.Context(), "u"); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	put(t, db.User("u"), map[string]item{"i000": {Status: "created", CreatedAt: t0}}) // the name may be used again
	if page, err := items.Query(t.Context(), db.User("u"), q); err != nil || len(page.Docs) != 1 {
		t.Errorf("%v, %v", ids(page), err)
	}
}
