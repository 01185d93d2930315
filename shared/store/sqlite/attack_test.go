package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
)

// listing returns the names of the files in a directory, without the log of an open store.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// tampered runs statements on a copy of a file, and returns the copy.
func tampered(t *testing.T, file, name string, statements ...string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(out, text, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", out)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAttackAMaliciousBackupIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	source, data := t.TempDir(), t.TempDir()
	other, from := noteDB(t, filepath.Join(source, "p.db"))
	writeKind(t, other, "theirs", 5)
	good := filepath.Join(source, "good.db")
	if _, err := from.Feed(t.Context(), store.Follow{Collection: "notes"}); err != nil {
		t.Fatal(err)
	}
	writeKind(t, other, "changed", 2)
	if err := errors.Join(from.Backup(t.Context(), good), other.Close()); err != nil {
		t.Fatal(err)
	}
	db, d := noteDB(t, filepath.Join(data, "p.db"))
	defer db.Close()
	writeKind(t, db, "mine", 3)
	before := listing(t, data)

	insert := func(u, c, id, doc string) string {
		return fmt.Sprintf("INSERT INTO docs (u, c, id, d) VALUES (%s, %s, %s, %s)", u, c, id, doc)
	}
	longText := func(n int) string { return fmt.Sprintf("printf('%%.*c', %d, 'x')", n) }
	for name, c := range map[string]struct {
		words      string
		statements []string
	}{
		"a trigger": {`it has the trigger "t"`, []string{
			"CREATE TRIGGER t AFTER INSERT ON docs BEGIN DELETE FROM docs; END"}},
		"a trigger on what is deleted": {`it has the trigger "t"`, []string{
			"CREATE TRIGGER t BEFORE DELETE ON entries BEGIN INSERT INTO docs VALUES ('u', 'notes', 'x', '{}', NULL); END"}},
		"a view": {`it has the view "v"`, []string{"CREATE VIEW v AS SELECT load_extension('x')"}},
		"a view in the place of a table": {"is not a backup of Parley: it has the ", []string{
			"ALTER TABLE docs RENAME TO real",
			"CREATE VIEW docs AS SELECT u, c, id, d, purge FROM real"}},
		"another table":             {`it has the table "extra"`, []string{"CREATE TABLE extra (a)"}},
		"a virtual table":           {"is not a backup of Parley", []string{"CREATE VIRTUAL TABLE f USING fts5(a)"}},
		"another index":             {`it has the index "extra"`, []string{"CREATE INDEX extra ON docs (d)"}},
		"an index of an expression": {`it has the index "extra"`, []string{"CREATE INDEX extra ON docs (upper(d))"}},
		"a missing index":           {`it lacks the index "changes_user"`, []string{"DROP INDEX changes_user"}},
		"another column":            {`it has the table "docs"`, []string{"ALTER TABLE docs ADD COLUMN x DEFAULT 7"}},
		"a generated column":        {`it has the table "docs"`, []string{"ALTER TABLE docs ADD COLUMN x AS (abs(-7))"}},
		"a table like it": {`it has the table "readers"`, []string{
			"DROP TABLE readers", "CREATE TABLE readers (name, c, seq)"}},
		"names with escapes": {`it has the table "\x1b]0;owned\a\u202e"`, []string{
			"CREATE TABLE \"\x1b]0;owned\x07\u202e\" (a)"}},
		"no layout":             {"is not a backup of Parley", []string{"PRAGMA user_version = 0"}},
		"a layout before all":   {"is not a backup of Parley", []string{"PRAGMA user_version = -3"}},
		"another layout's name": {"it has the ", []string{"PRAGMA user_version = 1"}},
		"a large schema":        {"its schema is too large", []string{manyTables(200)}},
		"a large statement": {"is not a backup of Parley", []string{
			"CREATE TABLE extra (a /* " + strings.Repeat("x", maxStatement) + " */)"}},
		"a document that is too long": {"a row of the table docs is not Parley's",
			[]string{insert("'u'", "'notes'", "'x'", `'{"text":"' || `+longText(maxText)+` || '"}'`)}},
		"a row over all limits":      {"is not a backup of Parley", []string{insert("'u'", "'notes'", "'x'", longText(20<<20))}},
		"a document that is no JSON": {"a row of the table docs", []string{insert("'u'", "'notes'", "'x'", "'{'")}},
		"a document of bytes":        {"a row of the table docs", []string{insert("'u'", "'notes'", "'x'", "x'7b7d'")}},
		"a document so deep": {"a row of the table docs", []string{
			insert("'u'", "'notes'", "'x'", `'{"text":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}'`)}},
		"a long name":         {"a row of the table docs", []string{insert("'u'", "'notes'", longText(maxID+1), "'{}'")}},
		"a time that is text": {"a row of the table docs", []string{"UPDATE docs SET purge = 'soon'"}},
		"the last number": {"a row of the table changes", []string{
			"UPDATE changes SET seq = 9223372036854775807 WHERE seq = (SELECT max(seq) FROM changes)"}},
		"another kind":         {"a row of the table changes", []string{"UPDATE changes SET kind = 'burnt'"}},
		"a change of nonsense": {"a row of the table changes", []string{"UPDATE changes SET after = 'x'"}},
		"a reader far ahead":   {"a row of the table readers", []string{"UPDATE readers SET seq = 9223372036854775807"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := tampered(t, good, "backup.db", c.statements...)
			err := d.Restore(t.Context(), file, filepath.Join(data, "kept.db"))
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
			if n, after := kinds(t, db, "mine"), listing(t, data); n != 3 || after != before {
				t.Errorf("%d notes are left, and the files %s; want %s", n, after, before)
			}
		})
	}
}

func manyTables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "CREATE TABLE t%d (a);", i)
	}
	return b.String()
}

func TestAttackAFileThatIsNoBackupIsRefused(t *testing.T) {
	t.Parallel()
	data, source := t.TempDir(), t.TempDir()
	db, d := noteDB(t, filepath.Join(data, "p.db"))
	defer db.Close()
	writeKind(t, db, "mine", 3)
	before := listing(t, data)
	huge := filepath.Join(source, "huge.db")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, MaxBackup+1)); err != nil {
		emulator.Skip(t, "no sparse file of this size: ", err)
	}
	utf16 := filepath.Join(source, "utf16.db")
	raw, err := sql.Open("sqlite", utf16)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "PRAGMA encoding = 'UTF-16'; CREATE TABLE docs (a)"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string]string{
		huge:   "is too large: a backup has at most 32 GiB",
		source: "it is not a file",
		utf16:  "its text is not UTF-8",
	} {
		if err := d.Restore(t.Context(), file, ""); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
		if err := CheckBackup(t.Context(), file, source); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
	if n, after := kinds(t, db, "mine"), listing(t, data); n != 3 || after != before {
		t.Errorf("%d notes are left, and the files %s; want %s", n, after, before)
	}
}

// Rows of an index that a backup brings lead to no document: a restore builds them anew.
func TestAttackTheIndexesOfABackupAreNotTrusted(t *testing.T) {
	t.Parallel()
	source, data := t.TempDir(), t.TempDir()
	other, from := noteDB(t, filepath.Join(source, "p.db"))
	writeKind(t, other, "theirs", 5)
	good, kept := filepath.Join(source, "good.db"), filepath.Join(data, "kept.db")
	if err := errors.Join(from.Backup(t.Context(), good), other.Close()); err != nil {
		t.Fatal(err)
	}
	file := tampered(t, good, "backup.db", "UPDATE entries SET name = 'nobody'", "INSERT INTO entries VALUES (x'00', 'x')",
		"INSERT INTO indexes VALUES (99999999, 'notes kind of mine')", "UPDATE indexes SET n = 70000 WHERE n = 1")
	db, d := noteDB(t, filepath.Join(data, "p.db"))
	defer db.Close()
	writeKind(t, db, "mine", 3)
	if err := d.Restore(t.Context(), file, kept); err != nil {
		t.Fatal(err)
	}
	if n, m := kinds(t, db, "theirs"), kinds(t, db, "mine"); n != 5 || m != 0 {
		t.Errorf("%d and %d notes", n, m)
	}
	if err := d.Restore(t.Context(), kept, ""); err != nil || kinds(t, db, "mine") != 3 {
		t.Errorf("the content before was not kept: %v", err)
	}
}
