package firestore_test

import (
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/storetest"
)

func TestTheDriverKeepsEveryPromiseOfThePort(t *testing.T) {
	t.Parallel()
	storetest.Suite(t, func(t *testing.T, _ *store.Schema) store.Driver {
		return open(t, firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)})
	})
}

// open returns a driver that is closed when the test ends.
func open(t *testing.T, opts firestore.Options) *firestore.Driver {
	t.Helper()
	d, err := firestore.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
