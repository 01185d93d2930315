package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Driver is a store in one SQLite file.
type Driver struct {
	schema  *store.Schema
	write   *sql.DB
	conn    *sql.Conn // the writer's alone
	read    *sql.DB
	w, r    *statements
	numbers map[*store.Index]uint16
	byName  map[string]uint16

	// The writer's alone: index rows that wait for flush, and what the last group was.
	fresh      []indexRow
	flushed    error // why rows of the group could not be written
	lastGroup  int
	lastCommit time.Duration
	recorded   bool // a change was added to the feed since readers were told

	queue chan *member
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once

	mu       sync.Mutex
	watchers map[watchScope]map[*watcher]struct{}
	fed      map[string]int                                                               // readers of the feed by collection
	follows  map[string]map[string]func(store.EventKind, store.Fields, store.Fields) bool // those of this process, by collection and name
	bell     chan struct{}                                                                // closed and replaced at every recorded change
}

const layout = `
CREATE TABLE IF NOT EXISTS docs (u TEXT NOT NULL, c TEXT NOT NULL, id TEXT NOT NULL, d TEXT NOT NULL, purge INTEGER,
	PRIMARY KEY (u, c, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS docs_purge ON docs (purge) WHERE purge IS NOT NULL;
CREATE TABLE IF NOT EXISTS entries (k BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexes (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
	u TEXT NOT NULL, c TEXT NOT NULL, id TEXT NOT NULL, before TEXT, after TEXT);
CREATE TABLE IF NOT EXISTS readers (name TEXT NOT NULL, c TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, c)) WITHOUT ROWID;
`

// layoutVersion is the file's user_version. A file of a later one is refused.
const layoutVersion = 1

// Open opens the store in the file, which it creates, readable by its owner
// alone, where it is missing. Indexes that the schema gained are built first.
// Several processes may have one file open.
func Open(ctx context.Context, file string, schema *store.Schema) (*Driver, error) {
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "cannot open the store %s", file)
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	dsn := func(pragmas ...string) string {
		v := url.Values{"_pragma": append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-32768)"}, pragmas...)}
		return (&url.URL{Scheme: "file", Path: abs, RawQuery: v.Encode()}).String()
	}
	d := &Driver{schema: schema, queue: make(chan *member, maxGroup), quit: make(chan struct{}), done: make(chan struct{}), numbers: map[*store.Index]uint16{}, byName: map[string]uint16{},
		watchers: map[watchScope]map[*watcher]struct{}{}, fed: map[string]int{},
		follows: map[string]map[string]func(store.EventKind, store.Fields, store.Fields) bool{}, bell: make(chan struct{})}
	if d.write, err = sql.Open("sqlite", dsn()); err != nil {
		return nil, err
	}
	if d.read, err = sql.Open("sqlite", dsn("query_only(1)")); err != nil {
		return nil, errors.Join(err, d.write.Close())
	}
	d.read.SetMaxOpenConns(4)
	d.read.SetMaxIdleConns(4)
	if err := d.prepare(ctx, schema); err != nil {
		return nil, errors.Join(fault.Wrap(fault.Unavailable, err, "cannot open the store %s", file), d.read.Close(), d.write.Close())
	}
	go d.writeLoop()
	return d, nil
}

func (d *Driver) prepare(ctx context.Context, schema *store.Schema) (err error) {
	if d.conn, err = d.write.Conn(ctx); err != nil {
		return err
	}
	if err := d.migrate(ctx, schema); err != nil {
		return err
	}
	if d.w, err = prepareStatements(ctx, d.conn); err != nil {
		return err
	}
	if d.r, err = prepareStatements(ctx, d.read); err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, `SELECT c, count(*) FROM readers GROUP BY c`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c string
		var n int
		if err := rows.Scan(&c, &n); err != nil {
			return err
		}
		d.fed[c] = n
	}
	return rows.Err()
}

// migrate brings the file to this program's layout and indexes, all or nothing.
func (d *Driver) migrate(ctx context.Context, schema *store.Schema) error {
	if _, err := d.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := d.migrateLocked(ctx, schema)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := d.conn.ExecContext(ctx, end)
	return errors.Join(err, endErr)
}

func (d *Driver) migrateLocked(ctx context.Context, schema *store.Schema) error {
	var version int
	if err := d.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > layoutVersion {
		return fmt.Errorf("the file was written by a later version of Parley (layout %d, this one knows %d)", version, layoutVersion)
	}
	if _, err := d.conn.ExecContext(ctx, layout+fmt.Sprintf("PRAGMA user_version = %d", layoutVersion)); err != nil {
		return err
	}
	var fresh []string
	for _, def := range schema.Defs() {
		added := false
		for _, x := range def.Indexes {
			if x.MergeOnly {
				continue
			}
			name := indexName(def, x)
			res, err := d.conn.ExecContext(ctx, `INSERT INTO indexes (name) VALUES (?) ON CONFLICT DO NOTHING`, name)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			added = added || n > 0
			if err := d.conn.QueryRowContext(ctx, `SELECT n FROM indexes WHERE name = ?`, name).Scan(&n); err != nil {
				return err
			}
			d.numbers[x], d.byName[name] = uint16(n), uint16(n)
		}
		if added {
			fresh = append(fresh, def.Name)
		}
	}
	return d.rebuild(ctx, schema, fresh)
}

// rebuild writes the index rows of collections whose declarations gained an
// index. A new file has no documents and costs nothing.
func (d *Driver) rebuild(ctx context.Context, schema *store.Schema, names []string) error {
	for _, def := range schema.Defs() {
		if !strings.Contains("\n"+strings.Join(names, "\n")+"\n", "\n"+def.Name+"\n") {
			continue
		}
		rows, err := d.conn.QueryContext(ctx, `SELECT u, c, id, d FROM docs WHERE c GLOB ?`, def.Name)
		if err != nil {
			return err
		}
		for rows.Next() {
			var ref store.Ref
			var text string
			if err := rows.Scan(&ref.User, &ref.Coll, &ref.ID, &text); err != nil {
				return errors.Join(err, rows.Close())
			}
			doc, err := parseText(text)
			if err != nil {
				return errors.Join(err, rows.Close())
			}
			if strings.Count(ref.Coll, "/") != strings.Count(def.Name, "/") {
				continue // a star is one segment; GLOB's is any number
			}
			for _, row := range d.rows(def, ref, doc) {
				if _, err := d.conn.ExecContext(ctx, `INSERT OR REPLACE INTO entries (k, name) VALUES (?, ?)`, row.key, row.name); err != nil {
					return errors.Join(err, rows.Close())
				}
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func indexName(def *store.Def, x *store.Index) string {
	name := def.Name + " " + x.String()
	if x.Group {
		name += " over all users"
	}
	return name
}

type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

type statements struct {
	get, list, scan, has, put, add, del, addKey, addKeys, delKey, record, begin, commit *sql.Stmt
}

// manyKeys is how many index rows one statement takes.
const manyKeys = 8

// prepareStatements prepares them once for all. (A bare LIMIT ? would be parsed
// anew each time it is bound.)
func prepareStatements(ctx context.Context, p preparer) (*statements, error) {
	s := &statements{}
	for _, q := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.get, `SELECT d FROM docs WHERE u = ? AND c = ? AND id = ?`},
		{&s.list, `SELECT id, d FROM docs WHERE u = ? AND c = ? AND id > ? ORDER BY id LIMIT ?+0`},
		{&s.scan, `SELECT k, name FROM entries WHERE k > ? AND k < ? ORDER BY k LIMIT ?+0`},
		{&s.has, `SELECT 1 FROM entries WHERE k = ?`},
		{&s.put, `INSERT INTO docs (u, c, id, d, purge) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (u, c, id) DO UPDATE SET d = excluded.d, purge = excluded.purge`},
		{&s.add, `INSERT INTO docs (u, c, id, d, purge) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.del, `DELETE FROM docs WHERE u = ? AND c = ? AND id = ?`},
		{&s.addKey, `INSERT INTO entries (k, name) VALUES (?, ?)`},
		{&s.addKeys, `INSERT INTO entries (k, name) VALUES (?, ?)` + strings.Repeat(`, (?, ?)`, manyKeys-1)},
		{&s.delKey, `DELETE FROM entries WHERE k = ?`},
		{&s.record, `INSERT INTO changes (at, kind, u, c, id, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)`},
	} {
		stmt, err := p.PrepareContext(ctx, q.text)
		if err != nil {
			return nil, err
		}
		*q.to = stmt
	}
	return s, nil
}

// Close ends the writer after the transactions that wait, and closes the file.
func (d *Driver) Close() error {
	d.once.Do(func() { close(d.quit) })
	<-d.done
	return errors.Join(d.conn.Close(), d.write.Close(), d.read.Close())
}

// asFault gives SQLite's errors a kind.
func asFault(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	var se *sqlite3.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			return fault.Wrap(fault.Unavailable, err, "the store is busy; repeat the call")
		case lib.SQLITE_FULL:
			return fault.Wrap(fault.Unavailable, err, "the disk is full; nothing was written")
		}
	}
	return fault.Wrap(fault.Internal, err, "store")
}
