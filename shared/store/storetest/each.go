package storetest

import (
	"path/filepath"
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
)

// Each runs a test on both drivers, as parallel subtests. The first attempt of every transaction is aborted. Without an
// emulator, the Firestore half is skipped.
func Each(t *testing.T, schema *store.Schema, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t, schema, store.AbortFirst()))
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		test(t, Firestore(t, schema, store.AbortFirst()))
	})
}

// SQLite returns an empty store in a file of the test's own. It is closed when the test ends.
func SQLite(t *testing.T, schema *store.Schema, opts ...store.Option) *store.DB {
	t.Helper()
	d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, store.New(d, schema, opts...))
}

// Firestore returns an empty store in the emulator. It is closed when the test ends.
func Firestore(t *testing.T, schema *store.Schema, opts ...store.Option) *store.DB {
	t.Helper()
	database := firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)}
	d, err := firestore.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, store.New(d, schema, opts...))
}

func closing(t *testing.T, db *store.DB) *store.DB {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
