package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/store/storetest"
)

// open opens a store that the test closes.
func open(t *testing.T, file string, schema *store.Schema) *sqlite.Driver {
	t.Helper()
	d, err := sqlite.Open(t.Context(), file, schema)
	check(t, err)
	t.Cleanup(func() { check(t, d.Close()) })
	return d
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAReaderOfAPurgedLogIsToldThatItIsTruncated(t *testing.T) {
	t.Parallel()
	schema := storetest.LogSchema()
	d := open(t, filepath.Join(t.TempDir(), "p.db"), schema)
	db := store.New(d, schema)
	u := db.User("u")
	begin, err := u.Log(t.Context(), "")
	check(t, err)
	for _, id := range []string{"a", "b"} {
		check(t, storetest.Note(t.Context(), u, id))
	}
	if n, err := d.Purge(t.Context(), schema, time.Now(), 10); n != 0 || err != nil {
		t.Errorf("the purge of a young log: %d, %v", n, err)
	}
	if n, err := d.Purge(t.Context(), schema, time.Now().Add(store.LogKept+time.Minute), 1); n != 1 || err != nil {
		t.Errorf("the purge of one: %d, %v", n, err)
	}
	page, err := u.Log(t.Context(), begin.Next)
	if err != nil || !page.Truncated || len(page.Entries) != 1 || page.Entries[0].ID != "n-b" {
		t.Errorf("%+v, %v", page, err)
	}
	if n, err := d.Purge(t.Context(), schema, time.Now().Add(store.LogKept+time.Minute), 10); n != 1 || err != nil {
		t.Errorf("the purge of the rest: %d, %v", n, err)
	}
	if after, err := u.Log(t.Context(), page.Next); err != nil || after.Truncated || len(after.Entries) > 0 {
		t.Errorf("a reader that missed nothing has %+v, %v", after, err)
	}
}

func TestAReaderOfALogIsToldOfARestore(t *testing.T) {
	t.Parallel()
	schema, dir := storetest.LogSchema(), t.TempDir()
	d := open(t, filepath.Join(dir, "p.db"), schema)
	u := store.New(d, schema).User("u")
	check(t, d.Backup(t.Context(), filepath.Join(dir, "b.db")))
	check(t, storetest.Note(t.Context(), u, "a"))
	now, err := u.Log(t.Context(), "")
	check(t, err)
	check(t, d.Restore(t.Context(), filepath.Join(dir, "b.db"), filepath.Join(dir, "kept.db")))
	page, err := u.Log(t.Context(), now.Next)
	if err != nil || !page.Truncated {
		t.Errorf("%+v, %v", page, err)
	}
	check(t, storetest.Note(t.Context(), u, "b"))
	page, err = u.Log(t.Context(), page.Next)
	if err != nil || page.Truncated || len(page.Entries) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
}
