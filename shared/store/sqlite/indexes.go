package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// alonePatience is the time for which Open tries to have a file alone that it must migrate.
const alonePatience = time.Second

// sourceOf makes the data source name of the file for connections that wait for locks and have the pragmas.
type sourceOf func(busy time.Duration, pragmas ...string) string

// setVersion selects the version of the set of indexes: the highest number of an index that there ever was, because
// every change of the set takes a new number.
const setVersion = `SELECT coalesce(max(n), 0) FROM indexes`

var errOtherIndexes = fault.New(fault.Unavailable,
	"another version of Parley has taken over the store and keeps other indexes: stop this one; nothing was written")

// openWriter opens the connection of the writer to a file of the last layout with this program's indexes. A file with others
// is migrated by a connection that has the file alone, since a program that goes on with the indexes that it knows would
// leave the others wrong. While any driver has the file open, the set of its indexes does not change.
func (d *Driver) openWriter(ctx context.Context, source sourceOf) error {
	for deadline := time.Now().Add(alonePatience); ; {
		current, err := d.connect(ctx, source(busyPatience))
		if err != nil || current {
			return err
		}
		err = d.migrateAlone(ctx, source)
		if err != nil && !busy(err) {
			return err
		}
		if err != nil && time.Now().After(deadline) {
			return errors.New("another process has it open that keeps other indexes or another layout, such as an older " +
				"version of Parley: stop that one first")
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(time.Duration(5+rand.IntN(45)) * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// connect opens the writer's connection, and keeps it if the file has the last layout and this program's indexes.
func (d *Driver) connect(ctx context.Context, source string) (current bool, err error) {
	if d.write, err = sql.Open("sqlite", source); err != nil {
		return false, err
	}
	if d.conn, err = d.write.Conn(ctx); err == nil {
		current, err = d.isCurrent(ctx)
		if current && err == nil {
			return true, nil
		}
		err = errors.Join(err, d.conn.Close())
	}
	return false, errors.Join(err, d.write.Close())
}

// isCurrent reports whether the file has the last layout and this program's indexes, whose numbers it then notes. A file of
// a later layout is an error.
func (d *Driver) isCurrent(ctx context.Context) (bool, error) {
	var version int
	if err := d.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, err
	}
	switch {
	case version > len(layouts):
		return false, errLater(version, len(layouts))
	case version < len(layouts):
		return false, nil
	}
	kept, err := indexesOf(ctx, d.conn)
	if err != nil {
		return false, err
	}
	names := d.indexNames()
	if len(names) != len(kept) {
		return false, nil
	}
	clear(d.numbers)
	for name, x := range names {
		n, ok := kept[name]
		if !ok {
			return false, nil
		}
		if x != nil {
			d.numbers[x] = n
		}
	}
	d.byName = kept
	return true, d.conn.QueryRowContext(ctx, setVersion).Scan(&d.set)
}

// indexNames returns the indexes that this program keeps, and nil for the texts of a collection, by their names.
func (d *Driver) indexNames() map[string]*store.Index {
	names := map[string]*store.Index{}
	for _, def := range d.schema.Defs() {
		for _, x := range kept(def) {
			names[indexName(def, x)] = x
		}
	}
	for _, def := range d.schema.Texts() {
		names[textName(def)] = nil
	}
	return names
}

// indexesOf returns the numbers of the indexes that the file has.
func indexesOf(ctx context.Context, conn *sql.Conn) (kept map[string]uint16, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT n, name FROM indexes`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	kept = map[string]uint16{}
	for rows.Next() {
		var n uint16
		var name string
		if err := rows.Scan(&n, &name); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, dropped) {
			kept[name] = n
		}
	}
	return kept, rows.Err()
}

// migrateAlone migrates the file with a connection beside which there is no other, of any process. A connection in WAL
// mode holds a shared lock for as long as it is open, and this one takes the exclusive lock.
func (d *Driver) migrateAlone(ctx context.Context, source sourceOf) (err error) {
	db, err := sql.Open("sqlite", source(0, "locking_mode(EXCLUSIVE)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return d.migrate(ctx, conn, d.schema, layouts)
}

// busy reports whether another connection kept a statement from its lock.
func busy(err error) bool {
	var se *sqlite3.Error
	return errors.As(err, &se) && slices.Contains([]int{lib.SQLITE_BUSY, lib.SQLITE_LOCKED}, se.Code()&0xff)
}

// sameSet returns an error if the set of indexes has changed since the file was opened. Locks prevent that; it is checked
// in every transaction that writes because they do not work on every network drive.
func (d *Driver) sameSet(row *sql.Row) error {
	var now int
	if err := row.Scan(&now); err != nil {
		return err
	}
	if now != d.set {
		return errOtherIndexes
	}
	return nil
}
