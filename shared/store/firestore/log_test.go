package firestore_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/storetest"
)

func TestAReaderWhoseCursorIsInTheFutureIsToldThatItHasMissedEntries(t *testing.T) {
	t.Parallel()
	d := open(t, firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)})
	for name, at := range map[string]int64{
		"tomorrow": time.Now().Add(24 * time.Hour).UnixMicro(), "never": math.MaxInt64,
	} {
		u := store.New(d, storetest.LogSchema()).User(name)
		if err := storetest.Note(t.Context(), u, "a"); err != nil {
			t.Fatal(err)
		}
		page, err := d.Log(t.Context(), name, json.RawMessage(fmt.Sprintf(`{"t":%d}`, at)))
		if err != nil || !page.Truncated || len(page.Commits) != 1 {
			t.Errorf("%s: %+v, %v", name, page, err)
			continue
		}
		if err := storetest.Note(t.Context(), u, "b"); err != nil {
			t.Fatal(err)
		}
		next, err := d.Log(t.Context(), name, page.Next)
		if err != nil || next.Truncated || len(next.Commits) != 1 {
			t.Errorf("%s: the next page is %+v, %v", name, next, err)
		}
	}
}
