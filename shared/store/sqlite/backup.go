package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"parley.internal/shared/fault"
)

// Backup writes all of the store, as it stands at one moment, into a new file that its
// owner alone can read. Others may read and write meanwhile, in any process. The file is
// there whole or not at all, and after a power cut too. One that is there is not
// overwritten: Exists.
func (d *Driver) Backup(ctx context.Context, file string) error {
	return d.backup(ctx, file, ".parley-backup-*")
}

// backup writes a backup by way of a file whose name has the pattern.
func (d *Driver) backup(ctx context.Context, file, pattern string) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fault.New(fault.Exists, "%s is there already; name another file", file)
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
	// Not a rename: that would overwrite a file that came in the meantime.
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

// syncFile brings what was written to a file or directory to the disk.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Documents counts all documents, of all users.
func (d *Driver) Documents(ctx context.Context) (n int, err error) {
	err = d.read.QueryRowContext(ctx, `SELECT count(*) FROM docs`).Scan(&n)
	return n, asFault(err)
}
