package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// kinds returns the number of notes of a kind that the index finds.
func kinds(t *testing.T, db *store.DB, kind string) int {
	t.Helper()
	page, err := notes.Query(t.Context(), db.User("u"), store.Query{Where: []store.Cond{store.Eq("kind", kind)}, Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Docs)
}

func writeKind(t *testing.T, db *store.DB, kind string, n int) {
	t.Helper()
	for i := range n {
		if err := put(t, db, fmt.Sprint(i), note{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
}

// Every transaction writes two equal notes, so a backup with different ones is inconsistent.
func TestABackupIsConsistentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, d := noteDB(t, filepath.Join(dir, "p.db"))
	defer db.Close()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wrote := make(chan struct{}, 1)
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			err := db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				for _, id := range []string{"a", "b"} {
					notes.Put(tx, id, note{Text: fmt.Sprint(n), Kind: strings.Repeat("x", 10_000)})
				}
				notes.Put(tx, fmt.Sprint(n%200), note{Kind: "filler"})
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	})
	var last string
	for i := range 5 {
		<-wrote
		file := filepath.Join(dir, fmt.Sprintf("b%d.db", i))
		if err := d.Backup(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		copied, _ := noteDB(t, file)
		a, errA := notes.Get(t.Context(), copied.User("u"), "a")
		b, errB := notes.Get(t.Context(), copied.User("u"), "b")
		if err := errors.Join(errA, errB, copied.Close()); err != nil || a.Text != b.Text || a.Text == last {
			t.Errorf("backup %d has %s and %s after %s, %v", i, a.Text, b.Text, last, err)
		}
		last = a.Text
	}
	stop()
	wg.Wait()
	if err := d.Backup(t.Context(), filepath.Join(dir, "b0.db")); !fault.Is(err, fault.Exists) {
		t.Errorf("a backup was overwritten: %v", err)
	}
	if err := d.Backup(t.Context(), filepath.Join(dir, "none", "b.db")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".parley-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestARestoreReplacesTheWholeStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The indexes of the backup have other numbers than those of the store.
	more := store.Collection[note]{Name: "more", Indexes: []string{"kind", "kind desc"}}
	first := store.NewSchema(more.Def(), notes.Def())
	d1 := open(t, filepath.Join(dir, "first.db"), first)
	db1 := store.New(d1, first)
	writeKind(t, db1, "old", 30)
	backup := filepath.Join(dir, "backup.db")
	if err := errors.Join(d1.Backup(t.Context(), backup), db1.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "second"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, d := noteDB(t, filepath.Join(dir, "second", "p.db"))
	defer db.Close()
	writeKind(t, db, "new", 50)
	other, _ := noteDB(t, filepath.Join(dir, "second", "p.db")) // as a server has it open
	defer other.Close()
	if err := d.Restore(t.Context(), backup, ""); err != nil {
		t.Fatal(err)
	}
	for _, db := range []*store.DB{db, other} {
		if o, n := kinds(t, db, "old"), kinds(t, db, "new"); o != 30 || n != 0 {
			t.Errorf("%d old and %d new notes", o, n)
		}
	}
	if err := put(t, other, "0", note{Kind: "newest"}); err != nil || kinds(t, db, "old") != 29 || kinds(t, db, "newest") != 1 {
		t.Errorf("the indexes are not kept up: %v", err)
	}
	if after, err := os.ReadFile(backup); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup was changed, %v", err)
	}
	if n, err := d.Documents(t.Context()); n != 30 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "second", ".parley-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestARestoreRefusesAFileThatIsNotABackupAndChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, d := noteDB(t, filepath.Join(dir, "p.db"))
	defer db.Close()
	writeKind(t, db, "mine", 3)
	good := filepath.Join(dir, "good.db")
	if err := d.Backup(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	later := write("later.db", whole)
	raw := open(t, later, store.NewSchema())
	if _, err := raw.conn.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	broken := slices.Clone(whole)
	const page = 4096
	for i := len(broken) / 2 / page * page; i < (len(broken)/2/page+1)*page; i++ {
		broken[i] ^= 0xff
	}
	for name, tc := range map[string]struct {
		file, words string
		kind        fault.Kind
	}{
		"a store in use": {filepath.Join(dir, "p.db"), "make a backup of it first", fault.Invalid},
		"no file":        {filepath.Join(dir, "none.db"), "cannot read the backup", fault.Unavailable},
		"text": {write("text.db", []byte("hello, this is no database")), "is not a backup of Parley",
			fault.Invalid},
		"an empty file":          {write("empty.db", nil), "is not a backup of Parley", fault.Invalid},
		"a later version":        {later, "was written by a later version of Parley (layout 99", fault.Invalid},
		"a truncated backup":     {write("half.db", whole[:len(whole)/2]), "half.db", fault.Invalid},
		"a corrupt backup":       {write("broken.db", broken), "broken.db is damaged", fault.Invalid},
		"another program's file": {write("other.db", otherDatabase(t)), "is not a backup of Parley", fault.Invalid},
	} {
		err := d.Restore(t.Context(), tc.file, filepath.Join(dir, "kept.db"))
		if !fault.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s: %v %v", name, fault.Of(err), err)
		}
		if n := kinds(t, db, "mine"); n != 3 {
			t.Errorf("%s: %d notes are left", name, n)
		}
	}
}

// otherDatabase returns the contents of a SQLite file of another program.
func otherDatabase(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "other.db")
	d := open(t, file, store.NewSchema())
	for _, s := range []string{
		"DROP TABLE docs", "CREATE TABLE things (a)", "INSERT INTO things VALUES (1)", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := d.conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A running reader of the feed receives the unacknowledged changes of the backup and the later ones, each once.
func TestTheFeedContinuesAcrossARestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, d := noteDB(t, filepath.Join(dir, "p.db"))
	defer db.Close()
	feed, err := d.Feed(t.Context(), store.Follow{Collection: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	next := func(after int64) []store.Event {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		events, err := feed.Next(ctx, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	for _, kind := range []string{"heard", "unheard"} {
		if err := put(t, db, kind, note{Kind: kind}); err != nil {
			t.Fatal(err)
		}
		if kind == "heard" {
			if err := feed.Ack(t.Context(), next(0)[0].Seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	backup := filepath.Join(dir, "b.db")
	if err := d.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	writeKind(t, db, "later", 5)
	events := next(0)
	last := events[len(events)-1].Seq
	if len(events) != 6 {
		t.Fatalf("%d events", len(events))
	}
	if err := feed.Ack(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := d.Restore(t.Context(), backup, ""); err != nil {
		t.Fatal(err)
	}
	if err := put(t, db, "after", note{Kind: "after"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range next(last) { // from where the reader was
		got = append(got, e.Ref.ID)
	}
	if !slices.Equal(got, []string{"unheard", "after"}) {
		t.Errorf("%v", got)
	}
}

func TestEveryEarlierLayoutIsMigrated(t *testing.T) {
	t.Parallel()
	for from := 1; from <= len(layouts); from++ {
		file := filepath.Join(t.TempDir(), "p.db")
		d := &Driver{numbers: map[*store.Index]uint16{}, byName: map[string]uint16{}}
		made := open(t, file, store.NewSchema())
		// The file as a program of that layout left it: its tables, and a document without index rows.
		for _, s := range []string{
			"DROP TABLE docs", "DROP TABLE entries", "DROP TABLE indexes", "DROP TABLE changes", "DROP TABLE readers",
			"DROP TABLE log", "DROP TABLE log_state", "DROP TABLE texts", "DROP TABLE words",
			"PRAGMA user_version = 0",
		} {
			if _, err := made.conn.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.migrate(t.Context(), made.conn, store.NewSchema(), layouts[:from]); err != nil {
			t.Fatal(err)
		}
		const insert = `INSERT INTO docs (u, c, id, d) VALUES ('u', 'notes', 'a', '{"text":"kept","kind":"k"}')`
		if _, err := made.conn.ExecContext(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		if err := made.Close(); err != nil {
			t.Fatal(err)
		}
		db, now := noteDB(t, file)
		var version int
		err := now.conn.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version)
		if err != nil || version != len(layouts) {
			t.Errorf("layout %d became %d, %v", from, version, err)
		}
		if n, err := notes.Get(t.Context(), db.User("u"), "a"); err != nil || n.Text != "kept" || kinds(t, db, "k") != 1 {
			t.Errorf("layout %d: %+v, %v", from, n, err)
		}
		if err := put(t, db, "b", note{Kind: "k"}); err != nil || kinds(t, db, "k") != 2 {
			t.Errorf("layout %d: %v", from, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFailedMigrationLeavesTheFileUnchanged(t *testing.T) {
	t.Parallel()
	db, d := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
	defer db.Close()
	writeKind(t, db, "k", 2)
	bad := append(slices.Clone(layouts),
		"CREATE TABLE extra (a);", "INSERT INTO extra VALUES (1); DELETE FROM docs; CREATE TABLE docs (a);")
	words := fmt.Sprintf("layout %d: ", len(bad))
	if err := d.migrate(t.Context(), d.conn, d.schema, bad); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%v", err)
	}
	var version, extra int
	if err := d.conn.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil || version != len(layouts) {
		t.Errorf("layout %d, %v", version, err)
	}
	const count = "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"
	err := d.conn.QueryRowContext(t.Context(), count).Scan(&extra)
	if err != nil || extra != 0 || kinds(t, db, "k") != 2 {
		t.Errorf("%d, %v", extra, err)
	}
}

// An index that another version of the program did not maintain must not be trusted.
func TestAStaleIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	plain := store.Collection[note]{Name: "notes"}
	db, _ := noteDB(t, file)
	writeKind(t, db, "old", 3)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	schema := store.NewSchema(plain.Def())
	between := store.New(open(t, file, schema), schema)
	err := between.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		plain.Put(tx, "0", note{Kind: "new"})
		plain.Delete(tx, "1")
		return nil
	})
	if err := errors.Join(err, between.Close()); err != nil {
		t.Fatal(err)
	}
	db, _ = noteDB(t, file)
	defer db.Close()
	if o, n := kinds(t, db, "old"), kinds(t, db, "new"); o != 1 || n != 1 {
		t.Errorf("%d old and %d new notes", o, n)
	}
}

// Neither the documents nor the feed may leave an erased text in the file.
func TestErasedDocumentsAreGoneFromTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, d := noteDB(t, file)
	if _, err := d.Feed(t.Context(), store.Follow{Collection: "notes"}); err != nil {
		t.Fatal(err)
	}
	const secret = "correct horse battery staple"
	for _, text := range []string{secret, secret + " again"} {
		if err := put(t, db, "a", note{Text: text, Kind: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.Erase(t.Context(), "u"); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if err := db.Close(); err != nil { // which writes the log into the file
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(file + end)
		if err == nil && bytes.Contains(text, []byte(secret)) {
			t.Errorf("it is still in p.db%s", end)
		}
	}
}
