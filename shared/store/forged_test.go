package store_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

type ctx = context.Context

type note struct {
	Rank int       `json:"rank"`
	At   time.Time `json:"at"`
}

var notes = store.Collection[note]{Name: "notes", Indexes: []string{"rank desc,at"}}

// A cursor is not secret, so anyone can write one. Its values must never cause any other fault than Invalid.
func TestAForgedCursorGetsAPageOrInvalidOnBothStores(t *testing.T) {
	t.Parallel()
	storetest.Each(t, store.NewSchema(notes.Def()), func(t *testing.T, db *store.DB) {
		u := db.User("u")
		err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
			for _, id := range []string{"a", "b", "c"} {
				notes.Put(tx, id, note{Rank: 1, At: time.Unix(1_700_000_000, 0)})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Order: []string{"rank desc", "at"}, Limit: 2}
		page, err := notes.Query(t.Context(), u, q)
		if err != nil || len(page.Docs) != 2 || page.Next == "" {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, values := range [][]string{
			{"n", "n"}, {"btrue", "s"}, {"sx", "i1"}, {"fInf", "f-Inf"}, {"i-9223372036854775808", "t0"},
			{"i1", "t9223372036854775807"},
			{"i1", "t-9223372036854775808"}, {"i1", "t-62135596800000001"}, {"i1", "t253402300800000000"},
			{"s\x00\u00ff", "n"}, {"f0x1p-1074", "b"},
		} {
			q.Cursor = edited(t, page.Next, values)
			if _, err := notes.Query(t.Context(), u, q); err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", values, err)
			}
		}
	})
}

// edited returns the cursor with other values.
func edited(t *testing.T, cursor string, values []string) string {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	var text map[string]any
	if err := json.Unmarshal(b, &text); err != nil {
		t.Fatal(err)
	}
	text["v"] = values
	if b, err = json.Marshal(text); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
