package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

var noted = store.Collection[item]{Name: "noted", Log: "note", Note: func(v *item, id string) store.Note {
	return store.Note{ID: "n-" + id, Line: v.Body, State: v.Status, Program: v.Kind}
}}

// LogSchema returns the schema of the tests of the log: one collection that is logged and one that is not.
func LogSchema() *store.Schema { return store.NewSchema(store.LogDef(), noted.Def(), riches.Def()) }

// logOf reads the log of a user from a cursor to its end.
func logOf(t *testing.T, u *store.Tenant, cursor string) (all []store.Logged, next string) {
	t.Helper()
	for {
		page, err := u.Log(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		all, cursor = append(all, page.Entries...), page.Next
		if page.Truncated {
			t.Error("the log is truncated")
		}
		if !page.More {
			return all, cursor
		}
	}
}

// note writes one document that is logged.
func note(t *testing.T, u *store.Tenant, write func(tx *store.Tx)) {
	t.Helper()
	if err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { write(tx); return nil }); err != nil {
		t.Error(err)
	}
}

func logs(t *testing.T, db *store.DB) {
	u := db.User("u")
	note(t, u, func(tx *store.Tx) { noted.Create(tx, "old", item{}) })
	none, cursor := logOf(t, u, "")
	if len(none) > 0 || cursor == "" {
		t.Fatalf("from the present: %+v, %q", none, cursor)
	}
	note(t, u, func(tx *store.Tx) {
		noted.Create(tx, "a", item{Body: strings.Repeat("ö", 400), Status: "new", Kind: "alpha"})
		noted.Put(tx, "b", item{Body: "b"})
		riches.Put(tx, "r", rich{})
	})
	note(t, u, func(tx *store.Tx) { noted.Patch(tx, "a", store.Set("status", "old")) })
	note(t, u, func(tx *store.Tx) { noted.Delete(tx, "a") })
	note(t, db.User("other"), func(tx *store.Tx) { noted.Put(tx, "a", item{}) })
	failed := errors.New("failed")
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { noted.Put(tx, "c", item{}); return failed })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	err = u.Update(t.Context(), func(_ ctx, tx *store.Tx) error { noted.Create(tx, "b", item{}); return nil })
	if !fault.Is(err, fault.Exists) {
		t.Fatal(err)
	}
	got, next := logOf(t, u, cursor)
	want := []store.Entry{
		{Kind: "note", Change: store.Created, Note: store.Note{ID: "n-a", Line: strings.Repeat("ö", 299) + "…", State: "new",
			Program: "alpha"}},
		{Kind: "note", Change: store.Updated, Note: store.Note{ID: "n-b", Line: "b"}},
		{Kind: "note", Change: store.Updated, Note: store.Note{ID: "a"}},
		{Kind: "note", Change: store.Deleted, Note: store.Note{ID: "a"}},
	}
	ids := map[string]bool{}
	for i, e := range got {
		ids[e.EventID] = true
		if i < len(want) && e.Entry != want[i] {
			t.Errorf("entry %d is %+v, want %+v", i, e.Entry, want[i])
		}
		if time.Since(e.At).Abs() > time.Hour {
			t.Errorf("entry %d is of %v", i, e.At)
		}
	}
	if len(got) != len(want) || len(ids) != len(want) {
		t.Errorf("%d entries with %d ids: %+v", len(got), len(ids), got)
	}
	if again, _ := logOf(t, u, cursor); !slices.EqualFunc(again, got, func(a, b store.Logged) bool {
		return a.EventID == b.EventID && a.Entry == b.Entry
	}) {
		t.Errorf("a second reading has %+v", again)
	}
	if more, _ := logOf(t, u, next); len(more) > 0 {
		t.Errorf("after all: %+v", more)
	}
	for _, bad := range []string{"x", "e30", "bnVsbA", "W10", cursor[1:]} {
		if _, err := u.Log(t.Context(), bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("the cursor %q: %v", bad, err)
		}
	}
}

// Writers change documents while a reader follows the log.
func logMissesNothing(t *testing.T, db *store.DB) {
	const writers, changes = 8, 40
	u := db.User("u")
	_, cursor := logOf(t, u, "")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range changes {
				note(t, u, func(tx *store.Tx) {
					noted.Put(tx, fmt.Sprintf("w%d", w), item{Status: fmt.Sprintf("%03d", i)})
				})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	seen, states := map[string]bool{}, map[string][]string{}
	read := func() {
		got, next := logOf(t, u, cursor)
		for _, e := range got {
			if !seen[e.EventID] {
				seen[e.EventID] = true
				states[e.ID] = append(states[e.ID], e.State)
			}
		}
		cursor = next
	}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		read()
	}
	if len(seen) != writers*changes {
		t.Errorf("%d entries of %d were read", len(seen), writers*changes)
	}
	for id, s := range states {
		if !slices.IsSorted(s) {
			t.Errorf("%s changed in the order %v", id, s)
		}
	}
	if len(states) != writers {
		t.Errorf("documents: %v", slices.Sorted(maps.Keys(states)))
	}
}

func logTakesTheLargestCommit(t *testing.T, db *store.DB) {
	u := db.User("u")
	_, cursor := logOf(t, u, "")
	note(t, u, func(tx *store.Tx) {
		for i := range store.MaxWrites {
			noted.Put(tx, number(i), item{Body: strings.Repeat("x", 400)})
		}
	})
	got, _ := logOf(t, u, cursor)
	if len(got) != store.MaxWrites || got[store.MaxWrites-1].ID != "n-"+number(store.MaxWrites-1) {
		t.Errorf("%d entries", len(got))
	}
}

func logWakes(t *testing.T, db *store.DB) {
	u := db.User("u")
	_, cursor := logOf(t, u, "")
	var got []store.Logged
	written := false
	err := store.WaitLog(t.Context(), u, time.Minute, func(ctx context.Context) (bool, error) {
		if got, cursor = logOf(t, u, cursor); len(got) == 0 && !written && store.Listening(ctx) {
			written = true
			go note(t, u, func(tx *store.Tx) { noted.Put(tx, "a", item{}) })
		}
		return len(got) > 0, nil
	})
	if err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func logIsErased(t *testing.T, db *store.DB) {
	u := db.User("u")
	_, cursor := logOf(t, u, "")
	note(t, u, func(tx *store.Tx) { noted.Put(tx, "a", item{}) })
	note(t, db.User("other"), func(tx *store.Tx) { noted.Put(tx, "a", item{}) })
	_, others := logOf(t, db.User("other"), "")
	if _, err := store.NewAdmin(db).Erase(t.Context(), "u"); err != nil {
		t.Fatal(err)
	}
	if got, _ := logOf(t, u, cursor); len(got) > 0 {
		t.Errorf("after the erasure: %+v", got)
	}
	note(t, db.User("other"), func(tx *store.Tx) { noted.Put(tx, "b", item{}) })
	if got, _ := logOf(t, db.User("other"), others); len(got) != 1 {
		t.Errorf("the other's log has %+v", got)
	}
}

// Note writes a document of [LogSchema] that is logged.
func Note(ctx context.Context, u *store.Tenant, id string) error {
	return u.Update(ctx, func(_ context.Context, tx *store.Tx) error { noted.Put(tx, id, item{}); return nil })
}
