package sqlite

import (
	"path/filepath"
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func open(t *testing.T, file string, schema *store.Schema) *Driver {
	t.Helper()
	d, err := Open(t.Context(), file, schema)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Suite(t, func(t *testing.T, schema *store.Schema) store.Driver {
		d := open(t, filepath.Join(t.TempDir(), "parley.db"), schema)
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	})
}
