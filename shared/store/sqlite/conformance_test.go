package sqlite_test

import (
	"path/filepath"
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/store/storetest"
)

func TestTheDriverKeepsEveryPromiseOfThePort(t *testing.T) {
	t.Parallel()
	storetest.Suite(t, func(t *testing.T, schema *store.Schema) store.Driver {
		d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	})
}
