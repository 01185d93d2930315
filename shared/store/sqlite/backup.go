package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"parley.internal/shared/fault"
)

// Backup writes a consistent copy of the store into a new file with mode 0600. Any process may read and write the store
// meanwhile. The file appears whole or not at all, even after a power cut. An existing file is not overwritten: Exists.
// A file that cannot be written is Unavailable.
func (d *Driver) Backup(ctx context.Context, file string) error {
	return d.backup(ctx, file, ".parley-backup-*")
}

// backup writes a backup by way of a temporary file whose name has the pattern.
func (d *Driver) backup(ctx context.Context, file, pattern string) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fault.New(fault.Exists, "%s already exists; name another file", file)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), pattern)
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

// File returns the absolute path of the store.
func (d *Driver) File() string { return d.file }

// Inspect calls look with connections to the store that cannot write.
func (d *Driver) Inspect(ctx context.Context, look func(context.Context, *sql.DB) error) error {
	return look(ctx, d.read)
}
