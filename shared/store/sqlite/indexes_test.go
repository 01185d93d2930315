package sqlite

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// laterNote is a note in a later version of the program, which finds notes by kind and text.
type laterNote note

var (
	laterNotes     = store.Collection[laterNote]{Name: "notes", Indexes: []string{"kind,text"}}
	earlier, later = store.NewSchema(notes.Def()), store.NewSchema(laterNotes.Def())
)

// intact fails the test unless the rows of all indexes are exactly those of the documents, and SQLite finds no damage.
func intact(t *testing.T, d *Driver) {
	t.Helper()
	ctx := t.Context()
	want := map[string]string{}
	rows, err := d.conn.QueryContext(ctx, `SELECT u, c, id, d FROM docs`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var ref store.Ref
		var text string
		if err := rows.Scan(&ref.User, &ref.Coll, &ref.ID, &text); err != nil {
			t.Fatal(err)
		}
		doc, err := parseText(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range d.rows(d.schema.DefOf(ref.Coll), ref, doc) {
			want[string(row.key)] = row.name
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	if rows, err = d.conn.QueryContext(ctx, `SELECT k, name FROM entries`); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var k []byte
		var name string
		if err := rows.Scan(&k, &name); err != nil {
			t.Fatal(err)
		}
		have[string(k)] = name
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(want, have) {
		t.Errorf("the indexes have %d rows, and the documents make %d, or others", len(have), len(want))
	}
	var verdict string
	if err := d.conn.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("%s, %v", verdict, err)
	}
}

func TestAProgramWithOtherIndexesDoesNotOpenAFileInUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	first := open(t, file, earlier)
	db := store.New(first, earlier)
	if err := put(t, db, "a", note{Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file, later); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "stop that one first") {
		t.Fatalf("got %v", err)
	}
	// The first goes on, and so does a second process that keeps the same indexes.
	second := open(t, file, earlier)
	if err := put(t, db, "b", note{Kind: "k"}); err != nil || kinds(t, store.New(second, earlier), "k") != 2 {
		t.Errorf("%v", err)
	}
	intact(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file, later); !fault.Is(err, fault.Unavailable) {
		t.Errorf("beside the second process: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	now := open(t, file, later)
	intact(t, now)
	if _, err := Open(t.Context(), file, earlier); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the earlier one beside the later one: %v", err)
	}
	if err := now.Close(); err != nil {
		t.Fatal(err)
	}
	back := open(t, file, earlier)
	intact(t, back)
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where locks do not work, as on some network drives, another program may change the set of indexes nevertheless.
func TestAWriteAfterTheSetOfIndexesHasChangedIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"an index more": `INSERT INTO indexes (name) VALUES ('notes kind,text')`,
		"an index less": `INSERT INTO indexes (n, name) SELECT max(n) + 1, 'dropped ' || (max(n) + 1) FROM indexes`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
			defer db.Close()
			backup := filepath.Join(t.TempDir(), "b.db")
			if err := put(t, db, "before", note{Kind: "k"}); err != nil {
				t.Fatal(err)
			}
			if err := d.Backup(t.Context(), backup); err != nil {
				t.Fatal(err)
			}
			if _, err := d.write.ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{
				"a write": put(t, db, "after", note{Kind: "k"}), "a restore": d.Restore(t.Context(), backup, ""),
			} {
				if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "stop this one; nothing was written") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if n, err := d.Documents(t.Context()); err != nil || n != 1 {
				t.Errorf("%d documents, %v", n, err)
			}
		})
	}
}

// writeRounds opens the file with a schema again and again, writes where it is not refused, and returns the number of
// acknowledged writes.
func writeRounds(t *testing.T, file, name string, schema *store.Schema, rounds int) (acknowledged int) {
	for round := range rounds {
		d, err := Open(t.Context(), file, schema)
		if err != nil {
			if !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		db := store.New(d, schema)
		for i := range 5 {
			err := db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				id, n := fmt.Sprintf("%s-%d-%d", name, round, i), note{Text: name, Kind: "k"}
				if schema == later {
					laterNotes.Put(tx, id, laterNote(n))
				} else {
					notes.Put(tx, id, n)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			acknowledged++
		}
		if err := db.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return acknowledged
}

// aProcess names the file of a writer that is a process of its own.
const aProcess = "PARLEY_TEST_SETTLE"

func TestTwoVersionsOfAProgramInTurnCorruptNothing(t *testing.T) {
	const rounds = 6
	if file := os.Getenv(aProcess); file != "" {
		fmt.Println("acknowledged", writeRounds(t, file, "process", later, rounds))
		return
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	var all sync.WaitGroup
	var total atomic.Int64
	for name, schema := range map[string]*store.Schema{"a": earlier, "b": earlier, "c": later} {
		all.Go(func() { total.Add(int64(writeRounds(t, file, name, schema, rounds))) })
	}
	all.Go(func() {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTwoVersionsOfAProgramInTurnCorruptNothing$")
		cmd.Env = append(os.Environ(), aProcess+"="+file)
		out, err := cmd.Output()
		_, count, found := strings.Cut(string(out), "acknowledged ")
		var n int
		if _, scanned := fmt.Sscan(count, &n); err != nil || !found || scanned != nil {
			t.Errorf("the process: %v, %s", err, out)
		}
		total.Add(int64(n))
	})
	all.Wait()
	for _, schema := range slices.Repeat([]*store.Schema{earlier, later}, 2) {
		d := open(t, file, schema)
		intact(t, d)
		if n, err := d.Documents(t.Context()); err != nil || int64(n) != total.Load() || n == 0 {
			t.Errorf("%d documents of %d acknowledged, %v", n, total.Load(), err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d writes were acknowledged", total.Load())
}
