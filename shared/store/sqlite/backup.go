package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley.internal/shared/fault"
)

// Backup writes a consistent copy of the store into a new file with mode 0600. Any process may read and write the store
// meanwhile. The file appears whole or not at all, even after a power cut. An existing file is not overwritten: Exists.
// A file that cannot be written is Unavailable.
func (d *Driver) Backup(ctx context.Context, file string) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fault.New(fault.Exists, "%s already exists; name another file", file)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".parley-backup-*")
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "cannot write %s", file)
	}
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(tmp.Name()))) }()
	if err := tmp.Close(); err != nil {
		return err
	}
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return asFault(err)
	}
	_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, tmp.Name())
	if err := errors.Join(err, conn.Close()); err != nil {
		return asFault(err)
	}
	if err := syncFile(tmp.Name()); err != nil {
		return err
	}
	// A rename would overwrite a file created in the meantime.
	if err := os.Link(tmp.Name(), file); err != nil {
		return fault.Wrap(fault.Unavailable, err, "cannot write %s", file)
	}
	return syncFile(filepath.Dir(file))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// syncFile flushes a file or directory to the disk.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Documents returns the number of documents of all users.
func (d *Driver) Documents(ctx context.Context) (n int, err error) {
	err = d.read.QueryRowContext(ctx, `SELECT count(*) FROM docs`).Scan(&n)
	return n, asFault(err)
}

// restorePrefix begins the names of the temporary copies of Restore.
const restorePrefix = ".parley-restore-"

// Restore replaces the contents of the store with those of a backup, in one transaction: every process that has the
// store open sees the change at once, and an interrupted restore changes nothing. Writers of other processes wait, or
// get Unavailable. The backup file is not changed; a backup of an earlier layout is migrated in a copy. A file that is
// not a backup, is damaged or was written by a later version is Invalid, one that cannot be read Unavailable.
func (d *Driver) Restore(ctx context.Context, file string) (err error) {
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
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fault.New(fault.Invalid, "%s is a store in use, and part of its data is in %s: make a backup of it first",
			file, file+"-wal")
	}
	copied, err := copyTo(dir, file)
	if copied != "" {
		defer func() {
			for _, end := range []string{"", "-wal", "-shm"} {
				err = errors.Join(err, ignoreMissing(os.Remove(copied+end)))
			}
		}()
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	if err := validate(ctx, copied, file); err != nil {
		return err
	}
	current, err := Open(ctx, copied, d.schema) // migrates it
	if err != nil {
		return err
	}
	names := current.byName
	if err := current.Close(); err != nil {
		return err
	}
	return asFault(d.replace(ctx, copied, names))
}

func copyTo(dir, file string) (name string, err error) {
	from, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.CreateTemp(dir, restorePrefix+"*.db")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return to.Name(), errors.Join(err, to.Close())
}

// validate returns an Invalid fault unless the copy of a file is an intact backup of a known layout.
func validate(ctx context.Context, copied, file string) (err error) {
	db, err := sql.Open("sqlite", sourceName(copied, "query_only(1)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version, tables int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fault.Wrap(fault.Invalid, err, "%s is not a backup of Parley: %v", file, err)
	}
	const count = `SELECT count(*) FROM sqlite_schema WHERE name IN ('docs', 'entries', 'indexes', 'changes', 'readers')`
	if err := db.QueryRowContext(ctx, count).Scan(&tables); err != nil {
		return fault.Wrap(fault.Invalid, err, "%s is not a backup of Parley: %v", file, err)
	}
	if version == 0 || tables != 5 {
		return fault.New(fault.Invalid, "%s is not a backup of Parley", file)
	}
	if version > Layout() {
		return fault.Wrap(fault.Invalid, errLater(version, Layout()), "%s", file)
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil || verdict != "ok" {
		return fault.New(fault.Invalid, "%s is damaged: %s", file, errors.Join(err, errors.New(verdict)))
	}
	return nil
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
	err = d.copyRows(ctx, conn, numbers)
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
		if _, err := conn.ExecContext(ctx, `INSERT INTO main.entries
			SELECT CAST(? || substr(k, 3) AS BLOB), name FROM b.entries WHERE k >= ? AND k < ?`, here, from, to); err != nil {
			return err
		}
	}
	return nil
}
