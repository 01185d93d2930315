package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"parley.internal/shared/store"
)

// The query of a transaction writes the index rows of the earlier ones. If that fails, the group must not be committed
// without them, even if the transaction ignores the error.
func TestAGroupIsNotCommittedWithoutItsIndexRows(t *testing.T) {
	t.Parallel()
	db, d := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
	defer db.Close()
	def := notes.Def()
	ref := func(id string) store.Ref { return store.Ref{User: "u", Coll: "notes", ID: id} }
	create := func(id string) []store.Write {
		return []store.Write{{Action: store.Create, Def: def, Ref: ref(id), Fields: store.Fields{"text": "x", "kind": "k"}}}
	}
	// An existing row with the same key makes the row of the first transaction fail.
	taken := d.rows(def, ref("a"), create("a")[0].Fields)[0]
	if _, err := d.conn.ExecContext(t.Context(), `INSERT INTO entries (k, name) VALUES (?, 'z')`, taken.key); err != nil {
		t.Fatal(err)
	}
	begin := func(fn func(context.Context, store.Reads) ([]store.Write, error)) *transaction {
		return &transaction{ctx: t.Context(), result: make(chan error, 1), fn: fn}
	}
	first := begin(func(context.Context, store.Reads) ([]store.Write, error) { return create("a"), nil })
	second := begin(func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		_, _ = r.Query(ctx, store.Plan{
			User: "u", Coll: "notes", Def: def, Index: def.Indexes[0],
			Where: []store.Cond{store.Eq("kind", "k")}, Limit: 9,
		})
		return create("b"), nil
	})
	d.commitGroup([]*transaction{first, second})
	if err := <-first.result; err == nil {
		t.Error("a document was created without its index row")
	}
	if err := <-second.result; err != nil {
		t.Errorf("the other transaction: %v", err)
	}
	if _, err := notes.Get(t.Context(), db.User("u"), "a"); err == nil {
		t.Error("the document of the failed transaction is there")
	}
	page, err := notes.Query(t.Context(), db.User("u"), store.Query{Where: []store.Cond{store.Eq("kind", "k")}, Limit: 9})
	if err != nil || len(page.Docs) != 1 || page.Docs[0].ID != "b" {
		t.Errorf("%+v, %v", page, err)
	}
}
