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
	EachDriver(t, schema, func(t *testing.T, open func() store.Driver) {
		test(t, closing(t, store.New(open(), schema, store.AbortFirst())))
	})
}

// EachDriver runs a test on both drivers, as parallel subtests. Each call of open opens an empty database, which the
// test closes. Without an emulator, the Firestore half is skipped.
func EachDriver(t *testing.T, schema *store.Schema, test func(t *testing.T, open func() store.Driver)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, func() store.Driver { return openSQLite(t, schema) })
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		test(t, func() store.Driver { return openFirestore(t) })
	})
}

// SQLite returns an empty store in a file of the test's own. It is closed when the test ends.
func SQLite(t *testing.T, schema *store.Schema, opts ...store.Option) *store.DB {
	t.Helper()
	return closing(t, store.New(openSQLite(t, schema), schema, opts...))
}

// Firestore returns an empty store in the emulator. It is closed when the test ends.
func Firestore(t *testing.T, schema *store.Schema, opts ...store.Option) *store.DB {
	t.Helper()
	return closing(t, store.New(openFirestore(t), schema, opts...))
}

func openSQLite(t *testing.T, schema *store.Schema) store.Driver {
	t.Helper()
	d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openFirestore(t *testing.T) store.Driver {
	t.Helper()
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closing(t *testing.T, db *store.DB) *store.DB {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
