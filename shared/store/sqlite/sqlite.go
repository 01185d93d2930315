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

// Driver is a store in one SQLite file. It may be used concurrently.
type Driver struct {
	schema  *store.Schema
	file    string
	write   *sql.DB
	conn    *sql.Conn // used by the writer alone
	read    *sql.DB
	w, r    *statements
	texts   bool // the schema has texts
	numbers map[*store.Index]uint16
	byName  map[string]uint16
	set     int // the version of the set of indexes

	// Used by the writer alone: the index rows that flush will write, and the measures of the last group.
	fresh      []indexRow
	flushErr   error // the error that kept rows of the group from being written
	lastGroup  int
	lastCommit time.Duration
	recorded   bool // a change was added to the feed since its reader was woken

	queue chan *transaction
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once

	mu       sync.Mutex
	watchers map[watchScope]map[*watcher]struct{}
	follows  map[string]store.Follow // the subscriptions of the feed's reader, by collection
	appended chan struct{}           // closed and replaced after every recorded change
}

// busyPatience is the time for which a statement waits for the lock of another process.
const busyPatience = 10 * time.Second

// Open opens the store in the file. A missing file is created with mode 0600. Several processes may have one file open
// if they keep the same indexes. Where the schema has others than the file, or the file has an earlier layout, Open
// migrates the file before it returns; if another process has it open meanwhile, the result is Unavailable, and the file
// is as it was. A file of a later layout is refused.
func Open(ctx context.Context, file string, schema *store.Schema) (*Driver, error) {
	if err := create(file); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "cannot open the store %s", file)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	dsn := func(busy time.Duration, pragmas ...string) string {
		pragmas = append([]string{fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}, pragmas...)
		return sourceName(abs, append(pragmas, "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(ON)",
			"cache_size(-32768)")...)
	}
	d := &Driver{
		schema: schema, file: abs, texts: len(schema.Texts()) > 0, numbers: map[*store.Index]uint16{}, byName: map[string]uint16{},
		queue: make(chan *transaction, maxGroup), quit: make(chan struct{}), done: make(chan struct{}),
		watchers: map[watchScope]map[*watcher]struct{}{},
		follows:  map[string]store.Follow{}, appended: make(chan struct{}),
	}
	if err := d.openWriter(ctx, dsn); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "cannot open the store %s", file)
	}
	if d.read, err = sql.Open("sqlite", dsn(busyPatience, "query_only(1)")); err != nil {
		return nil, errors.Join(err, d.conn.Close(), d.write.Close())
	}
	d.read.SetMaxOpenConns(4)
	d.read.SetMaxIdleConns(4)
	if err := d.prepare(ctx); err != nil {
		err = fault.Wrap(fault.Unavailable, err, "cannot open the store %s", file)
		return nil, errors.Join(err, d.read.Close(), d.conn.Close(), d.write.Close())
	}
	go d.writeLoop()
	return d, nil
}

// create creates a missing file. It does not open one that exists: closing it again would release the locks that other
// connections of this process have on it.
func create(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// sourceName returns the data source name of a file for database/sql. SQLite calls no function in the schema of the
// file, since someone else may have written it.
func sourceName(file string, pragmas ...string) string {
	pragmas = append([]string{"trusted_schema(0)"}, pragmas...)
	return (&url.URL{Scheme: "file", Path: file, RawQuery: url.Values{"_pragma": pragmas}.Encode()}).String()
}

func (d *Driver) prepare(ctx context.Context) (err error) {
	if d.w, err = prepareStatements(ctx, d.conn); err != nil {
		return err
	}
	if d.r, err = prepareStatements(ctx, d.read); err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, `SELECT c FROM readers`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			return err
		}
		d.follows[c] = store.Follow{Collection: c} // every change, until Feed is called
	}
	return rows.Err()
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
	get, list, scan, has, put, add, del, addKey, addKeys, delKey, record, log, set, begin, commit *sql.Stmt

	texts *textStatements
}

// manyKeys is the number of index rows that one statement inserts.
const manyKeys = 8

// prepareStatements prepares all statements. They say "LIMIT ?+0" because SQLite parses a statement with a bare "LIMIT
// ?" again each time it is bound.
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
		{&s.set, setVersion},
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.del, `DELETE FROM docs WHERE u = ? AND c = ? AND id = ?`},
		{&s.addKey, `INSERT INTO entries (k, name) VALUES (?, ?)`},
		{&s.addKeys, `INSERT INTO entries (k, name) VALUES (?, ?)` + strings.Repeat(`, (?, ?)`, manyKeys-1)},
		{&s.delKey, `DELETE FROM entries WHERE k = ?`},
		{&s.log, `INSERT INTO log (at, u, entries) VALUES (?, ?, ?)`},
		{&s.record, `INSERT INTO changes (at, kind, u, c, id, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)`},
	} {
		stmt, err := p.PrepareContext(ctx, q.text)
		if err != nil {
			return nil, err
		}
		*q.to = stmt
	}
	var err error
	s.texts, err = prepareTexts(ctx, p)
	return s, err
}

func (s *statements) close() (err error) {
	for _, stmt := range []*sql.Stmt{
		s.get, s.list, s.scan, s.has, s.put, s.add, s.del, s.addKey, s.addKeys, s.delKey, s.record, s.log, s.set, s.begin,
		s.commit,
	} {
		err = errors.Join(err, stmt.Close())
	}
	return errors.Join(err, s.texts.close())
}

// ReadsLocally reports that a read costs no round trip: see [store.Tenant.Consume].
func (d *Driver) ReadsLocally() bool { return true }

// Close runs the waiting transactions, ends the writer and closes the file. Later writes are Unavailable.
func (d *Driver) Close() error {
	d.once.Do(func() { close(d.quit) })
	<-d.done
	// The last connection to close writes the log into the file. A read-only connection cannot do this, nor one with
	// an open statement.
	return errors.Join(d.r.close(), d.read.Close(), d.w.close(), d.conn.Close(), d.write.Close())
}

// asFault converts an error of SQLite to a fault.
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
