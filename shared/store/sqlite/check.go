package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	sqlite3 "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// The limits of a backup's content, in bytes unless said otherwise.
const (
	// maxText is the limit of a document's text. One of store.MaxDocument bytes is shorter.
	maxText = 8 << 20
	// maxID is the limit of the name of a user and of the ID of a document, maxPath that of a collection's path.
	maxID, maxPath = 1500, 6 << 10
	// maxStatement is the limit of a statement of the schema.
	maxStatement = 64 << 10
	// maxSeq is the largest number of a change, far below that at which SQLite numbers no further rows.
	maxSeq = 1 << 48
)

// validate returns an Invalid fault unless the copy of a file is an intact backup of a known layout; see
// [Driver.Restore]. It queries no table before it knows the schema.
func validate(ctx context.Context, copied, file string) (err error) {
	if err := header(copied); err != nil {
		return fault.New(fault.Invalid, "%s is not a backup of Parley: %v", file, err)
	}
	db, err := sql.Open("sqlite", sourceName(copied, "query_only(1)", "cell_size_check(1)", "mmap_size(0)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fault.New(fault.Invalid, "%s is not a backup of Parley: %v", file, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for id, n := range map[int]int{lib.SQLITE_LIMIT_LENGTH: 2*maxText + maxStatement,
		lib.SQLITE_LIMIT_SQL_LENGTH: maxStatement} {
		if _, err := sqlite3.Limit(conn, id, n); err != nil {
			return err
		}
	}
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fault.New(fault.Invalid, "%s is not a backup of Parley: %v", file, err)
	}
	switch {
	case version > Layout():
		return fault.Wrap(fault.Invalid, errLater(version, Layout()), "%s", file)
	case version <= 0:
		return fault.New(fault.Invalid, "%s is not a backup of Parley", file)
	}
	if err := sameSchema(ctx, conn, layouts[:version]); err != nil {
		return fault.New(fault.Invalid, "%s is not a backup of Parley: %v", file, err)
	}
	var verdict string
	if err := conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil || verdict != "ok" {
		return fault.New(fault.Invalid, "%s is damaged: %s", file, errors.Join(err, errors.New(verdict)))
	}
	for _, t := range contents {
		if err := t.check(ctx, conn); err != nil {
			return fault.New(fault.Invalid, "%s is not a backup of Parley: %v", file, err)
		}
	}
	return nil
}

// header returns an error if the header of a file is not that of a SQLite file in UTF-8 whose schema fits into one page.
// SQLite reads the whole schema when it opens a file.
func header(file string) error {
	const size, encodingAt, rootAt = 101, 56, 100
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var h [size]byte
	if _, err := io.ReadFull(f, h[:]); err != nil || !bytes.HasPrefix(h[:], []byte("SQLite format 3\x00")) {
		return errors.New("it is not a SQLite file")
	}
	const utf8, leaf = 1, 13
	if !bytes.Equal(h[encodingAt:encodingAt+4], []byte{0, 0, 0, utf8}) {
		return errors.New("its text is not UTF-8")
	}
	if h[rootAt] != leaf {
		return errors.New("its schema is too large")
	}
	return nil
}

// item is a table or an index of a schema.
type item struct{ kind, name, table, statement string }

// sameSchema returns an error unless the schema is exactly the one that the layouts make.
func sameSchema(ctx context.Context, conn *sql.Conn, layouts []string) (err error) {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=trusted_schema(0)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	model, err := db.Conn(ctx) // another connection would have another database
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	for _, step := range layouts {
		if _, err := model.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	want, err := schemaOf(ctx, model, 1000)
	if err != nil {
		return err
	}
	have, err := schemaOf(ctx, conn, len(want)+1)
	if err != nil {
		return err
	}
	for x := range have {
		if !want[x] {
			return fmt.Errorf("it has the %.20s %.100q", x.kind, x.name)
		}
	}
	for x := range want {
		if !have[x] {
			return fmt.Errorf("it lacks the %s %q", x.kind, x.name)
		}
	}
	return nil
}

// schemaOf returns at most the given number of items of a schema.
func schemaOf(ctx context.Context, conn *sql.Conn, most int) (items map[item]bool, err error) {
	rows, err := conn.QueryContext(ctx,
		`SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema LIMIT ?`, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	items = map[item]bool{}
	for rows.Next() {
		var x item
		if err := rows.Scan(&x.kind, &x.name, &x.table, &x.statement); err != nil {
			return nil, err
		}
		// The layouts in older programs may be indented in another way.
		x.statement = strings.Join(strings.Fields(x.statement), " ")
		items[x] = true
	}
	return items, rows.Err()
}

// content is a table of a backup and the check of its rows. The tables that a restore builds anew have none.
type content struct {
	table, query string
	columns      int
	valid        func(row []any) bool
}

var contents = []content{
	{"docs", `SELECT u, c, id, d, purge FROM docs`, 5, func(row []any) bool {
		_, purges := row[4].(int64)
		return named(row[0], row[1], row[2]) && document(row[3]) && (row[4] == nil || purges)
	}},
	{"changes", `SELECT u, c, id, before, after, seq, at, kind FROM changes`, 8, func(row []any) bool {
		_, timed := row[6].(int64)
		kind := row[7]
		return named(row[0], row[1], row[2]) && (row[3] == nil || document(row[3])) &&
			(row[4] == nil || document(row[4])) && numbered(row[5]) && timed &&
			(kind == string(store.Created) || kind == string(store.Updated) || kind == string(store.Deleted))
	}},
	{"readers", `SELECT name, c, seq FROM readers`, 3, func(row []any) bool {
		return named(row[0], row[1], row[0]) && numbered(row[2])
	}},
}

// check returns an error if a row of the table is not one that Parley writes.
func (t content) check(ctx context.Context, conn *sql.Conn) (err error) {
	rows, err := conn.QueryContext(ctx, t.query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row, to := make([]any, t.columns), make([]any, t.columns)
	for i := range row {
		to[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if !t.valid(row) {
			return fmt.Errorf("a row of the table %s is not Parley's", t.table)
		}
	}
	return rows.Err()
}

// named reports whether the values may be a user, a collection's path and the ID of a document.
func named(user, coll, id any) bool {
	u, ok := user.(string)
	c, ok2 := coll.(string)
	i, ok3 := id.(string)
	return ok && ok2 && ok3 && len(u) <= maxID && len(c) <= maxPath && len(i) <= maxID
}

func numbered(seq any) bool {
	n, ok := seq.(int64)
	return ok && n >= 0 && n <= maxSeq
}

func document(text any) bool {
	s, ok := text.(string)
	if !ok || len(s) > maxText {
		return false
	}
	_, err := parseText(s)
	return err == nil
}
