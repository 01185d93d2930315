package domaintest

import (
	"path"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/store/storetest"
)

// Each runs a test on both stores, each empty, in parallel. The first attempt of every transaction is rolled back and
// repeated, so that a side effect within a transaction becomes visible.
func Each(t *testing.T, schema *store.Schema, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, schema, test)
}

// EachOver is [Each] with a driver of the test around that of the store, such as one that counts calls or makes them
// fail. The first attempt of a transaction is not rolled back.
func EachOver[D store.Driver](
	t *testing.T, schema *store.Schema, wrap func(store.Driver) D, test func(t *testing.T, db *store.DB, d D),
) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, d := SQLiteOver(t, schema, wrap)
		test(t, db, d)
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		d := wrap(openFirestore(t))
		test(t, open(t, d, schema), d)
	})
}

// Crowd returns the number of concurrent calls for a test of [Each] or [EachOver]: n, or onEmulator on Firestore. In
// the emulator, and only there, a contended transaction takes two seconds and more.
func Crowd(t testing.TB, n, onEmulator int) int {
	if path.Base(t.Name()) == "firestore" {
		return onEmulator
	}
	return n
}

// SQLiteOver opens an empty SQLite store with a driver of the test around its own, and returns both.
func SQLiteOver[D store.Driver](t *testing.T, schema *store.Schema, wrap func(store.Driver) D) (*store.DB, D) {
	t.Helper()
	inner, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
	Check(t, err)
	d := wrap(inner)
	return open(t, d, schema), d
}

func openFirestore(t *testing.T, dial ...grpc.DialOption) store.Driver {
	t.Helper()
	opts := firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: dial}
	d, err := firestore.Open(t.Context(), opts)
	Check(t, err)
	return d
}

func open(t *testing.T, d store.Driver, schema *store.Schema) *store.DB {
	t.Helper()
	db := store.New(d, schema)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
