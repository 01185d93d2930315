package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/store/storetest"
)

// unsearched is the schema of a program from before texts were kept.
func unsearched() *store.Schema {
	return store.NewSchema(slices.DeleteFunc(slices.Clone(storetest.TextSchema().Defs()),
		func(d *store.Def) bool { return d.Name == store.TextName })...)
}

// found checks the results of a search for a word.
func found(t *testing.T, db *store.DB, word string, want ...string) {
	t.Helper()
	if got := storetest.Find(t, db.User("u"), word); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%s: found %v, want %v", word, got, want)
	}
}

// during runs a test on a store, which it closes.
func during(t *testing.T, file string, schema *store.Schema, test func(*store.DB, *sqlite.Driver)) {
	t.Helper()
	d, err := sqlite.Open(t.Context(), file, schema)
	check(t, err)
	db := store.New(d, schema)
	test(db, d)
	check(t, db.Close())
}

func TestDocumentsFromBeforeAreFoundOnceTheStoreIsOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	say := func(id, text string) func(*store.DB, *sqlite.Driver) {
		return func(db *store.DB, _ *sqlite.Driver) { storetest.Say(t, db.User("u"), id, text) }
	}
	during(t, file, unsearched(), say("a", "old words"))
	during(t, file, storetest.TextSchema(), func(db *store.DB, _ *sqlite.Driver) {
		found(t, db, "old", "page a")
		storetest.Say(t, db.User("u"), "b", "words of today")
		found(t, db, "words", "page b", "page a")
	})
	during(t, file, unsearched(), say("a", "changed meanwhile"))
	during(t, file, storetest.TextSchema(), func(db *store.DB, _ *sqlite.Driver) {
		found(t, db, "old")
		found(t, db, "changed", "page a")
		found(t, db, "words", "page b")
	})
}

func TestARestoreFindsWhatTheBackupSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backup, forged := filepath.Join(dir, "b.db"), filepath.Join(dir, "forged.db")
	during(t, filepath.Join(dir, "p.db"), storetest.TextSchema(), func(db *store.DB, d *sqlite.Driver) {
		storetest.Say(t, db.User("u"), "a", "before")
		check(t, d.Backup(t.Context(), backup))
		storetest.Say(t, db.User("u"), "a", "after")
		storetest.Say(t, db.User("u"), "b", "after")
		check(t, d.Restore(t.Context(), backup, ""))
		found(t, db, "after")
		found(t, db, "before", "page a")

		text, err := os.ReadFile(backup)
		check(t, err)
		check(t, os.WriteFile(forged, text, 0o600))
		other, err := sql.Open("sqlite", forged)
		check(t, err)
		_, err = other.ExecContext(t.Context(), `INSERT INTO words (rowid, scope, title, body)
			SELECT n + 1, '', 'forged', '' FROM texts; INSERT INTO texts SELECT n + 1, u, c, 'x', digest FROM texts`)
		check(t, err)
		check(t, other.Close())
		check(t, d.Restore(t.Context(), forged, ""))
		found(t, db, "forged")
		found(t, db, "before", "page a")
		storetest.Say(t, db.User("u"), "c", "before and after")
		found(t, db, "before", "page c", "page a")
	})
}

func TestTheWordsOfErasedDocumentsAreGoneFromTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	during(t, file, storetest.TextSchema(), func(db *store.DB, d *sqlite.Driver) {
		storetest.Say(t, db.User("u"), "a", "xylophonist")
		storetest.Say(t, db.User("other"), "b", "kept")
		if n, err := d.Erase(t.Context(), "u"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if got := storetest.Find(t, db.User("other"), "kept"); len(got) != 1 {
			t.Errorf("the other's: %v", got)
		}
	})
	text, err := os.ReadFile(file)
	check(t, err)
	if bytes.Contains(text, []byte("xylophonist")) || !bytes.Contains(text, []byte("kept")) {
		t.Error("the file has the words of an erased document, or lacks those of another")
	}
}
