package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"parley.internal/shared/store"
)

// layouts are the steps from each layout to the next; the first creates the tables of an empty file. The number of
// steps that a file has had is its user_version. A released step must not be changed; a change of the layout is another
// step.
var layouts = []string{`
CREATE TABLE docs (u TEXT NOT NULL, c TEXT NOT NULL, id TEXT NOT NULL, d TEXT NOT NULL, purge INTEGER,
	PRIMARY KEY (u, c, id)) WITHOUT ROWID;
CREATE INDEX docs_purge ON docs (purge) WHERE purge IS NOT NULL;
CREATE TABLE entries (k BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE indexes (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
	u TEXT NOT NULL, c TEXT NOT NULL, id TEXT NOT NULL, before TEXT, after TEXT);
CREATE TABLE readers (name TEXT NOT NULL, c TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, c)) WITHOUT ROWID;
`, `
CREATE INDEX changes_user ON changes (u);
`,
	// The same tables: programs of the earlier layouts change the set of indexes while others have the file open, so they
	// must not open it any more.
	``,
	`
CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, u TEXT NOT NULL, entries TEXT NOT NULL);
CREATE INDEX log_user ON log (u);
CREATE TABLE log_state (purged INTEGER NOT NULL);
INSERT INTO log_state VALUES (0);
`, `
CREATE TABLE texts (n INTEGER PRIMARY KEY, u TEXT NOT NULL, c TEXT NOT NULL, id TEXT NOT NULL, digest BLOB NOT NULL);
CREATE UNIQUE INDEX texts_doc ON texts (u, c, id);
CREATE VIRTUAL TABLE words USING fts5(scope, title, body, content='', contentless_delete=1, tokenize='ascii',
	prefix='2 3');
`,
}

// Layout returns the number of the layout that this program writes. A file of a later layout is refused.
func Layout() int { return len(layouts) }

// migrate brings the file to the last layout and to this program's indexes, in one transaction on the connection.
func (d *Driver) migrate(ctx context.Context, conn *sql.Conn, schema *store.Schema, layouts []string) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := d.migrateLocked(ctx, conn, schema, layouts)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := conn.ExecContext(ctx, end)
	return errors.Join(err, endErr)
}

func (d *Driver) migrateLocked(ctx context.Context, conn *sql.Conn, schema *store.Schema, layouts []string) error {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(layouts) {
		return errLater(version, len(layouts))
	}
	for i, step := range layouts[version:] {
		if _, err := conn.ExecContext(ctx, step+fmt.Sprintf("PRAGMA user_version = %d", version+i+1)); err != nil {
			return fmt.Errorf("layout %d: %w", version+i+1, err)
		}
	}
	clear(d.numbers)
	clear(d.byName)
	var fresh []*store.Def
	for _, def := range schema.Defs() {
		anew := false
		for _, x := range kept(def) {
			added, err := d.nameIndex(ctx, conn, indexName(def, x), x)
			if err != nil {
				return err
			}
			anew = anew || added
		}
		if anew {
			fresh = append(fresh, def)
		}
	}
	var said []*store.Def
	for _, def := range schema.Texts() {
		added, err := d.nameIndex(ctx, conn, textName(def), nil)
		if err != nil {
			return err
		}
		if added {
			said = append(said, def)
		}
	}
	if err := d.dropIndexes(ctx, conn); err != nil {
		return err
	}
	for _, def := range fresh {
		if err := d.rebuild(ctx, conn, def); err != nil {
			return err
		}
	}
	return indexTexts(ctx, conn, said)
}

// kept returns the indexes of a collection that the driver keeps.
func kept(def *store.Def) []*store.Index {
	if def.Name == store.TextName { // its documents are the rows of another table
		return nil
	}
	return slices.DeleteFunc(slices.Clone(def.Indexes), func(x *store.Index) bool { return x.MergeOnly })
}

// nameIndex gives an index, or the texts of a collection, a number, unless it has one. It reports whether it had none.
func (d *Driver) nameIndex(ctx context.Context, conn *sql.Conn, name string, x *store.Index) (added bool, err error) {
	res, err := conn.ExecContext(ctx, `INSERT INTO indexes (name) VALUES (?) ON CONFLICT DO NOTHING`, name)
	if err != nil {
		return false, err
	}
	rows, err := res.RowsAffected()
	if err != nil {
		return false, err
	}
	var n uint16
	if err := conn.QueryRowContext(ctx, `SELECT n FROM indexes WHERE name = ?`, name).Scan(&n); err != nil {
		return false, err
	}
	if d.byName[name] = n; x != nil {
		d.numbers[x] = n
	}
	return rows > 0, nil
}

func errLater(version, known int) error {
	return fmt.Errorf("the file was written by a later version of Parley (layout %d, this one knows %d)", version, known)
}

// dropped is the prefix of the name of a dropped index. Its number is not used again, because an older program that is
// still running may have written rows under it.
const dropped = "dropped "

// dropIndexes drops the indexes that this program does not maintain. A program that declares one again must build it
// anew, because its rows are stale.
func (d *Driver) dropIndexes(ctx context.Context, conn *sql.Conn) error {
	gone := map[string]uint16{}
	kept, err := indexesOf(ctx, conn)
	if err != nil {
		return err
	}
	for name, n := range kept {
		if _, known := d.byName[name]; !known {
			gone[name] = n
		}
	}
	for name, n := range gone {
		if err := dropTexts(ctx, conn, name); err != nil {
			return err
		}
		from, to := keysOf(n)
		if _, err := conn.ExecContext(ctx, `DELETE FROM entries WHERE k >= ? AND k < ?`, from, to); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, `UPDATE indexes SET name = ? || n WHERE n = ?`, dropped, n); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	// A change of the set takes a new number, even where it only drops: see setVersion.
	_, err = conn.ExecContext(ctx, `INSERT INTO indexes (n, name) SELECT max(n) + 1, ? || (max(n) + 1) FROM indexes`, dropped)
	return err
}

// keysOf returns the range of an index's keys: its first key and the first after it.
func keysOf(n uint16) (from, to []byte) {
	return binary.BigEndian.AppendUint16(nil, n), binary.BigEndian.AppendUint16(nil, n+1)
}

// rebuild writes the index rows of a collection. A new file has no documents, so it costs nothing there.
func (d *Driver) rebuild(ctx context.Context, conn *sql.Conn, def *store.Def) error {
	return eachDoc(ctx, conn, def, func(raw store.Raw) error {
		for _, row := range d.rows(def, raw.Ref, raw.Fields) {
			const insert = `INSERT OR REPLACE INTO entries (k, name) VALUES (?, ?)`
			if _, err := conn.ExecContext(ctx, insert, row.key, row.name); err != nil {
				return err
			}
		}
		return nil
	})
}
