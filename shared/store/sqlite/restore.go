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

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// MaxBackup is the size of the largest backup that is restored, in bytes.
const MaxBackup = 32 << 30

// restoring begins the names of the files that restores work on. A restore removes those of one that was killed.
const restoring = ".parley-restore-"

// Restore replaces the content of the store with a backup, in one transaction: everyone who has the store open sees all
// of it at once, and a restore that is killed has changed nothing. Writers of other processes wait for it, or are told
// to repeat the call. If keep is not empty, the content before is first written to that file, as by [Driver.Backup].
//
// The backup is not trusted. The restore works on a copy, accepts the tables and indexes of its own layout and documents
// within the limits of the store, and builds the rows of the indexes anew. It is Invalid if the file has anything else,
// is larger than [MaxBackup], is damaged or was written by a later version; the directory of the store is then as it was
// before. A backup of an earlier version is upgraded on the way. The file itself does not change.
func (d *Driver) Restore(ctx context.Context, file, keep string) (err error) {
	dir := filepath.Dir(d.file)
	left, err := filepath.Glob(filepath.Join(dir, restoring+"*"))
	if err != nil {
		return err
	}
	for _, name := range left { // of restores that were killed
		if err := ignoreMissing(os.Remove(name)); err != nil {
			return err
		}
	}
	return checked(ctx, file, dir, func(copied string) error {
		names, err := upgrade(ctx, copied, d.schema)
		if err != nil {
			return err
		}
		if keep == "" {
			return asFault(d.replace(ctx, copied, names))
		}
		if err := d.backup(ctx, keep, restoring+"kept-*"); err != nil {
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

// checked calls use with a copy of a backup that was found good, in a directory. Then it removes the copy.
func checked(ctx context.Context, file, dir string, use func(copied string) error) (err error) {
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fault.New(fault.Invalid,
			"%s is a store that is or was in use, and part of it is in %s: make a backup of it first", file, file+"-wal")
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
	if err := sound(ctx, copied, file); err != nil {
		return err
	}
	return use(copied)
}

// copyTo copies a backup into a directory. It returns the name of the copy, also of one that is not complete.
func copyTo(ctx context.Context, dir, file string) (name string, err error) {
	info, err := os.Stat(file) // a pipe must not be opened
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	if !info.Mode().IsRegular() {
		return "", fault.New(fault.Invalid, "%s is no backup of Parley: it is not a file", file)
	}
	from, err := os.Open(file)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if info, err = from.Stat(); err == nil && info.Size() > MaxBackup {
		return "", fault.New(fault.Invalid, "%s is too large: a backup has at most %d GiB", file, MaxBackup>>30)
	}
	to, err := os.CreateTemp(dir, restoring+"*.db")
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

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// upgrade brings a copy of a backup to the current layout and builds the rows of its indexes from its documents. It
// returns the numbers of the indexes there.
func upgrade(ctx context.Context, copied string, schema *store.Schema) (numbers map[string]uint16, err error) {
	db, err := sql.Open("sqlite", sourceName(copied))
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "BEGIN; DELETE FROM entries; DELETE FROM indexes; COMMIT")
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, asFault(err)
	}
	d, err := Open(ctx, copied, schema)
	if err != nil {
		return nil, err
	}
	return d.byName, d.Close()
}

// replace takes over what is in a file of the same layout, whose indexes have the given
// numbers there.
func (d *Driver) replace(ctx context.Context, from string, numbers map[string]uint16) (err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, `ATTACH ? AS b`, from); err != nil {
		return err
	}
	// A connection that is given back must not hold the copy.
	defer func() {
		_, detached := conn.ExecContext(context.WithoutCancel(ctx), `DETACH b`)
		err = errors.Join(err, detached)
	}()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err = d.takeOver(ctx, conn, numbers)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, ended := conn.ExecContext(context.WithoutCancel(ctx), end)
	return errors.Join(err, ended)
}

func (d *Driver) takeOver(ctx context.Context, conn *sql.Conn, numbers map[string]uint16) error {
	// Readers of the feed that run now go on behind the last change that they can have
	// seen: what the backup had not told them yet comes under later numbers.
	const shift = `(SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM main.sqlite_sequence WHERE name = 'changes' UNION ALL SELECT seq FROM main.readers))`
	statements := []string{
		`CREATE TEMP TABLE shift AS SELECT ` + shift + ` AS n`,
		`DELETE FROM main.docs`, `INSERT INTO main.docs SELECT u, c, id, d, purge FROM b.docs`,
		`DELETE FROM main.changes`,
		`INSERT INTO main.changes SELECT seq + (SELECT n FROM shift), at, kind, u, c, id, before, after FROM b.changes`,
		`DELETE FROM main.readers`, `INSERT INTO main.readers SELECT name, c, seq + (SELECT n FROM shift) FROM b.readers`,
		`DROP TABLE shift`,
		`DELETE FROM main.entries`,
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for name, n := range d.byName {
		there, ok := numbers[name]
		if !ok {
			return fmt.Errorf("the copy lacks the index %s", name)
		}
		from, to := keysOf(there)
		here, _ := keysOf(n)
		if _, err := conn.ExecContext(ctx, `INSERT INTO main.entries SELECT CAST(? || substr(k, 3) AS BLOB), name FROM b.entries WHERE k >= ? AND k < ?`, here, from, to); err != nil {
			return err
		}
	}
	return nil
}
