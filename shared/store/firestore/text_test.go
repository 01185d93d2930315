package firestore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/storetest"
)

// Documents of a version without texts are found once a sweep has added them to the index, by several servers at once.
func TestDocumentsFromBeforeAreFoundAfterASweep(t *testing.T) {
	t.Parallel()
	const documents, limit = 320, 100
	host, project := emulator.Shared(t), emulator.Project(t)
	schema := storetest.TextSchema()
	var plain []*store.Def
	for _, d := range schema.Defs() {
		if d.Name != store.TextName {
			plain = append(plain, d)
		}
	}
	connect := func(s *store.Schema) *store.DB {
		return store.New(open(t, firestore.Options{EmulatorHost: host, Project: project}), s)
	}
	before := connect(store.NewSchema(plain...))
	for i := range documents {
		storetest.Say(t, before.User("u"), fmt.Sprintf("d%03d", i), fmt.Sprintf("old words%d", i))
	}
	db := connect(schema)
	storetest.Say(t, db.User("u"), "d007", "newer words")
	storetest.Say(t, db.User("u"), "new", "words999")
	sweep := func(db *store.DB) error {
		for {
			if n, err := store.NewAdmin(db).IndexTexts(context.Background(), limit); err != nil || n < limit {
				return err
			}
		}
	}
	ended := make(chan error)
	for range 2 {
		go func() { ended <- sweep(connect(schema)) }()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{"words319": "page d319", "words7": "", "newer": "page d007", "words999": "page new",
		"old words0": "page d000"} {
		if got := storetest.Find(t, db.User("u"), query); strings.Join(got, ", ") != want {
			t.Errorf("%s: found %v, want %s", query, got, want)
		}
	}
	if n, err := store.NewAdmin(db).IndexTexts(t.Context(), limit); n != 0 || err != nil {
		t.Errorf("a further sweep looked at %d, %v", n, err)
	}
}
