package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// MaxBackup is the size of the largest backup that is restored, in bytes.
const MaxBackup = 32 << 30

// restorePrefix begins the names of the temporary files of Restore.
const restorePrefix = ".parley-restore-"

// Restore replaces the contents of the store with those of a backup, in one transaction: every process that has the
// store open sees the change at once, and an interrupted restore changes nothing. Writers of other processes wait, or
// get Unavailable. If keep is not empty, the contents before are first written to that file, as by [Driver.Backup].
//
// The backup is not trusted. Restore works on a copy, accepts only the tables and indexes of a layout and documents
// within the limits of the store, and rebuilds the rows of the indexes. A file with anything else, one over [MaxBackup],
// a damaged one and one of a later version are Invalid, and one that cannot be read is Unavailable; the directory of the
// store is then as it was before. A backup of an earlier layout is migrated. The backup file is not changed.
func (d *Driver) Restore(ctx context.Context, file, keep string) (err error) {
	dir := filepath.Dir(d.file)
	left, err := filepath.Glob(filepath.Join(dir, restorePrefix+"*"))
	if err != nil {
		return err
	}
	for _, name := range left { // by restores that were interrupted
		if err := ignoreMissing(os.Remove(name)); err != nil {
			return err
		}
	}
	return checked(ctx, file, dir, func(copied string) error {
		names, err := migrateCopy(ctx, copied, d.schema)
		if err != nil {
			return err
		}
		if keep == "" {
			return asFault(d.replace(ctx, copied, names))
		}
		if err := d.backup(ctx, keep, restorePrefix+"kept-*"); err != nil {
			return err
		}
		if err := asFault(d.replace(ctx, copied, names)); err != nil {
			return errors.Join(err, ignoreMissing(os.Remove(keep)))
		}
		return nil
	})
}

// CheckBackup returns the error that [Driver.Restore] would return for a file that is not a backup. It works on a copy
// in a directory, and removes it.
func CheckBackup(ctx context.Context, file, dir string) error {
	return checked(ctx, file, dir, func(string) error { return nil })
}

// CheckWhole returns an error if a file is not one that can be read, or is a store of which another file has a part.
func CheckWhole(file string) error {
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fault.New(fault.Invalid,
			"%s is a store in use, and part of its data is in %s: make a backup of it first", file, file+"-wal")
	}
	info, err := os.Stat(file) // a pipe must not be opened
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.Invalid, "%s is not a backup of Parley: it is not a file", file)
	}
	return nil
}

// checked calls use with a copy of a backup that was found good, in a directory. Then it removes the copy.
func checked(ctx context.Context, file, dir string, use func(copied string) error) (err error) {
	if err := CheckWhole(file); err != nil {
		return err
	}
	copied, err := copyTo(ctx, dir, file)
	if copied != "" {
		defer func() {
			for _, end := range []string{"", "-wal", "-shm", "-journal"} {
				err = errors.Join(err, ignoreMissing(os.Remove(copied+end)))
			}
		}()
	}
	if err != nil {
		return err
	}
	if err := validate(ctx, copied, file); err != nil {
		return err
	}
	return use(copied)
}

// copyTo copies a backup into a directory. It returns the name of the copy, also of one that is not complete.
func copyTo(ctx context.Context, dir, file string) (name string, err error) {
	from, err := os.Open(file)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if info, err := from.Stat(); err == nil && info.Size() > MaxBackup {
		return "", fault.New(fault.Invalid, "%s is too large: a backup has at most %d GiB", file, MaxBackup>>30)
	}
	to, err := os.CreateTemp(dir, restorePrefix+"*.db")
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "cannot copy the backup")
	}
	n, err := io.Copy(to, readerOf(ctx, io.LimitReader(from, MaxBackup+1)))
	if err = errors.Join(err, to.Close()); err == nil && n > MaxBackup {
		err = fs.ErrInvalid
	}
	if err != nil {
		return to.Name(), fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	return to.Name(), nil
}

// readerOf returns a reader that ends with ctx.
func readerOf(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// migrateCopy migrates the copy of a backup to the current layout, and rebuilds the rows of its indexes from its
// documents. It returns the numbers of the indexes there.
func migrateCopy(ctx context.Context, copied string, schema *store.Schema) (numbers map[string]uint16, err error) {
	db, err := sql.Open("sqlite", sourceName(copied))
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "BEGIN; DELETE FROM entries; DELETE FROM indexes; COMMIT")
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, asFault(err)
	}
	// Its texts are not used: those of the store are made from the documents.
	plain := slices.DeleteFunc(slices.Clone(schema.Defs()), func(d *store.Def) bool { return d.Name == store.TextName })
	d, err := Open(ctx, copied, store.NewSchema(plain...))
	if err != nil {
		return nil, err
	}
	return d.byName, d.Close()
}

// replace replaces the contents of the store with those of a file of the same layout, in which the indexes have the
// given numbers.
func (d *Driver) replace(ctx context.Context, from string, numbers map[string]uint16) (err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, `ATTACH ? AS b`, from); err != nil {
		return err
	}
	// The connection goes back to the pool and must not keep the copy attached.
	defer func() {
		_, detached := conn.ExecContext(context.WithoutCancel(ctx), `DETACH b`)
		err = errors.Join(err, detached)
	}()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if err = d.sameSet(conn.QueryRowContext(ctx, setVersion)); err == nil {
		err = d.copyRows(ctx, conn, numbers)
	}
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, ended := conn.ExecContext(context.WithoutCancel(ctx), end)
	return errors.Join(err, ended)
}

func (d *Driver) copyRows(ctx context.Context, conn *sql.Conn, numbers map[string]uint16) error {
	// A running reader of the feed goes on after the last change that it can have seen, so the changes of the backup
	// that it has not acknowledged get later numbers.
	const shift = `(SELECT coalesce(max(seq), 0) FROM (
		SELECT seq FROM main.sqlite_sequence WHERE name = 'changes' UNION ALL SELECT seq FROM main.readers))`
	statements := []string{
		`CREATE TEMP TABLE shift AS SELECT ` + shift + ` AS n`,
		`DELETE FROM main.docs`,
		`INSERT INTO main.docs SELECT u, c, id, d, purge FROM b.docs`,
		`DELETE FROM main.changes`,
		`INSERT INTO main.changes SELECT seq + (SELECT n FROM shift), at, kind, u, c, id, before, after FROM b.changes`,
		`DELETE FROM main.readers`,
		`INSERT INTO main.readers SELECT name, c, seq + (SELECT n FROM shift) FROM b.readers`,
		`DROP TABLE shift`,
		// Every document may have changed, so readers of the log are told that they have missed something.
		`DELETE FROM main.log`,
		`INSERT INTO main.log (at, u, entries) VALUES (0, '', '[]')`,
		`UPDATE main.log_state SET purged = (SELECT max(seq) FROM main.log)`,
		`DELETE FROM main.log`,
		`DELETE FROM main.entries`,
		`DELETE FROM main.texts`,
		`INSERT INTO main.words (words) VALUES ('delete-all')`,
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for name, n := range d.byName {
		if strings.HasPrefix(name, textPrefix) {
			continue
		}
		there, ok := numbers[name]
		if !ok {
			return fmt.Errorf("the copy lacks the index %s", name)
		}
		from, to := keysOf(there)
		here, _ := keysOf(n)
		if _, err := conn.ExecContext(ctx, `INSERT INTO main.entries
			SELECT CAST(? || substr(k, 3) AS BLOB), name FROM b.entries WHERE k >= ? AND k < ?`, here, from, to); err != nil {
			return err
		}
	}
	return indexTexts(ctx, conn, d.schema.Texts())
}
