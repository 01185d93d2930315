package storetest

import (
	"context"
	"testing"

	"parley.internal/shared/store"
)

// usage tests that the usage of a user counts every document of that user, at any depth, and none of another.
func usage(t *testing.T, db *store.DB) {
	want := int64(len(fill(t, db, "u", "u2")))
	of := func(user string) store.Usage {
		t.Helper()
		u, err := db.User(user).Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	of("u") // a driver may need two looks to see all of a user's documents
	before := of("u")
	if before.Documents != want || before.Bytes < 40*want || before.Bytes > 500*want {
		t.Errorf("%+v, want %d documents", before, want)
	}
	if got := of("nobody"); got != (store.Usage{}) {
		t.Errorf("nobody keeps %+v", got)
	}
	large := item{Status: "created", Body: string(make([]byte, 100_000)), CreatedAt: t0}
	if err := db.User("u2").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		items.Put(tx, "large", large)
		items.Delete(tx, "i000")
		items.Delete(tx, "i001")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	of("u2")
	after := of("u2")
	if after.Documents != want-1 || after.Bytes < 100_000 || after.Bytes > 1_000_000 {
		t.Errorf("%+v after a large document, want %d documents", after, want-1)
	}
	if got := of("u"); got.Documents != before.Documents {
		t.Errorf("the other user keeps %+v, before %+v", got, before)
	}
	if _, err := db.User("a/b").Usage(t.Context()); err == nil {
		t.Error("a malformed user is counted")
	}
}
