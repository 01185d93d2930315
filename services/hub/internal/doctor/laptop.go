package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that reads the file

	"parley.internal/shared/client"
)

// Laptop is the embedded store of one machine.
type Laptop struct {
	// File is the path of the store, and KeysFile that of the keys from the first start.
	File, KeysFile string
	// HumanKey is where the person's own key is.
	HumanKey HumanKey
	// Layout is the latest layout that this program knows.
	Layout int
	// Server is the base URL of the server that the keys are for; empty if unknown.
	Server string
	// Inspect calls look with the open store of the server that has the file; nil opens the file. A process that has the
	// store open must not open its file by another way, because closing that would release the store's locks.
	Inspect func(ctx context.Context, look func(context.Context, *sql.DB) error) error
	// Now is the clock of this machine.
	Now func() time.Time
	// Free returns the number of free bytes in a directory; nil asks the system.
	Free func(dir string) (uint64, error)
}

// ServerCheck is the name of the check whether the server can be reached.
const ServerCheck = "server"

// whole is the time limit of the check that reads the whole store.
const whole = 2 * time.Minute

// Checks returns all checks of the embedded store.
func (l *Laptop) Checks() []Check {
	checks := []Check{
		{Name: storeName, Look: l.store},
		{Name: "whole", Look: l.there(l.whole), Patience: whole},
		{Name: "permissions", Look: l.there(l.permissions)},
		{Name: "disk", Look: l.disk},
		{Name: ServerCheck, Look: l.server},
		{Name: "keys", Look: l.there(l.keys)},
		{Name: "human", Look: l.there(l.humanKey)},
		{Name: clockName, Look: l.there(l.clock)},
	}
	for i := range checks {
		checks[i].Stuck = "check the disk, and whether it is a network drive"
	}
	return checks
}

// there returns a check that is skipped if there is no store.
func (l *Laptop) there(look func(context.Context) Result) func(context.Context) Result {
	return func(ctx context.Context) Result {
		if _, err := os.Stat(l.File); errors.Is(err, fs.ErrNotExist) {
			return skip("not checked: there is no store")
		}
		return look(ctx)
	}
}

// read opens the file without a change to it or its directory. Without a write-ahead log no process has the file open,
// and the file is complete.
func (l *Laptop) read(ctx context.Context, look func(context.Context, *sql.DB) error) (err error) {
	if l.Inspect != nil {
		return l.Inspect(ctx, look)
	}
	file, err := filepath.Abs(l.File)
	if err != nil {
		return err
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	if _, err := os.Stat(file + "-wal"); errors.Is(err, fs.ErrNotExist) {
		options.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return look(ctx, db)
}

func (l *Laptop) putBack() string {
	return "stop the server, move " + l.File + " and its -wal and -shm files away, then parley restore BACKUP"
}

// store checks that the file is a store that this program can open.
func (l *Laptop) store(ctx context.Context) Result {
	info, err := os.Stat(l.File)
	if errors.Is(err, fs.ErrNotExist) {
		return fail("there is no store at "+l.File, "start parley serve, or name the store's directory with --data")
	}
	if err != nil {
		return fail(err.Error(), "run it as the user who runs the server")
	}
	if !info.Mode().IsRegular() {
		return fail(l.File+" is not a regular file", "name the store's directory with --data")
	}
	// SQLite reports a file without permission in the same way as a damaged one.
	if l.Inspect == nil {
		if f, err := os.Open(l.File); err != nil {
			return fail(err.Error(), "run it as the user who runs the server")
		} else if err := f.Close(); err != nil {
			return fail(err.Error(), "")
		}
	}
	layout, tables := 0, 0
	err = l.read(ctx, func(ctx context.Context, db *sql.DB) error {
		if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&layout); err != nil {
			return err
		}
		return db.QueryRowContext(ctx,
			`SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('docs', 'changes')`).Scan(&tables)
	})
	switch {
	case err != nil:
		return fail("cannot read "+l.File+": "+err.Error(), l.putBack())
	case layout > l.Layout:
		return fail(
			fmt.Sprintf("%s was written by a later version of Parley (layout %d, this one knows %d)", l.File, layout,
				l.Layout),
			"run that version, or move the file away and parley restore an older backup")
	case layout == 0 || tables != 2:
		return fail(l.File+" is not a store of Parley", "name the store's directory with --data")
	case layout < l.Layout:
		return ok("%s has layout %d; the next start brings it to %d", l.File, layout, l.Layout)
	}
	return ok("%s, %s, layout %d", l.File, bytesOf(uint64(info.Size())), layout)
}

func (l *Laptop) whole(ctx context.Context) Result {
	var wrong []string
	err := l.read(ctx, func(ctx context.Context, db *sql.DB) (err error) {
		rows, err := db.QueryContext(ctx, `PRAGMA quick_check(5)`)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				wrong = append(wrong, line)
			}
		}
		return rows.Err()
	})
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		return fail("the store is damaged: "+few(wrong), l.putBack())
	}
	return ok("no page of the store is damaged")
}

// permissions checks that only the owner can read the store and its keys.
func (l *Laptop) permissions(context.Context) Result {
	if runtime.GOOS == "windows" {
		return skip("not checked: Windows has other permissions")
	}
	var found []Result
	for _, file := range []string{l.File, l.File + "-wal", l.File + "-shm", l.KeysFile, l.HumanKey.File} {
		info, err := os.Stat(file)
		if file == "" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fail(err.Error(), "run it as the user who runs the server")
		}
		if open := info.Mode().Perm() & 0o077; open != 0 {
			found = append(found,
				fail(fmt.Sprintf("other users can read %s (%#o)", file, info.Mode().Perm()), "chmod 600 "+file))
		}
	}
	dir := filepath.Dir(l.File)
	info, err := os.Stat(dir)
	if err != nil {
		return fail(err.Error(), "run it as the user who runs the server")
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o022 != 0:
		found = append(found,
			fail(fmt.Sprintf("other users can replace the files in %s (%#o)", dir, mode), "chmod 700 "+dir))
	case mode&0o077 != 0:
		found = append(found,
			warn(fmt.Sprintf("other users can list %s (%#o)", dir, mode), "chmod 700 "+dir))
	}
	return sum(ok("only the owner can read the store and its keys"), found)
}

const (
	leastFree  = 100 << 20
	roomyFree  = 1 << 30
	freeAdvice = "free some space; writes fail on a full disk"
)

func (l *Laptop) disk(context.Context) Result {
	dir := filepath.Dir(l.File)
	free := l.Free
	if free == nil {
		free = freeIn
	}
	left, err := free(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return skip("not checked: this system does not report free space")
	}
	if err != nil {
		return warn("cannot find the free space: "+err.Error(), "name the store's directory with --data")
	}
	var size uint64
	if info, err := os.Stat(l.File); err == nil {
		size = uint64(info.Size())
	}
	said := bytesOf(left) + " free in " + dir
	switch {
	case left < leastFree:
		return fail(said, freeAdvice)
	case left < roomyFree:
		return warn(said, freeAdvice)
	case left < 2*size:
		return warn(said+", and the store takes "+bytesOf(size),
			"free some space; a backup and a restore each need as much as the store")
	}
	return ok("%s", said)
}

func bytesOf(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	value, i := float64(n)/1024, 0
	for ; value >= 1024; i++ {
		value /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", value, units[i])
}

// server checks the health of the server that the keys are for. It sends no key.
func (l *Laptop) server(ctx context.Context) Result {
	if l.Server == "" {
		return skip("not checked: %s names no server", l.KeysFile)
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	c, err := client.New(l.Server, "", client.WithHTTPClient(direct), client.WithRetry(client.NoRetry))
	if err != nil {
		return warn(err.Error(), "correct PARLEY_URL in "+l.KeysFile)
	}
	health, err := c.Health(ctx)
	var e *client.Error
	switch {
	case errors.As(err, &e) && e.Status != 0:
		return warn(fmt.Sprintf("the server at %s is not a healthy Parley (%d)", l.Server, e.Status),
			"see its log, and check that it is not another program")
	case err != nil:
		return skip("no server answers at %s", l.Server)
	}
	return ok("%s serves at %s", strings.TrimSpace("Parley "+health.Version), l.Server)
}
