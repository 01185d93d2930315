package doctor_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// dataDir is a data directory with a store that a server has used, and its keys.
type dataDir struct {
	t    *testing.T
	dir  string
	at   time.Time // the time of the clock; zero for that of the machine
	free uint64
	doctor.Laptop
	open *sqlite.Driver // while a server has it open
}

func (d *dataDir) file(name string) string { return filepath.Join(d.dir, name) }

// template returns the file of a store with one key, created once.
var template = sync.OnceValues(func() (text []byte, err error) {
	dir, err := os.MkdirTemp("", "doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "parley.db")
	d, err := sqlite.Open(context.Background(), file, app.Schema())
	if err != nil {
		return nil, err
	}
	_, err = service(d).Issue(context.Background(), "local", keys.CreateInput{Program: "alpha"})
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func newDataDir(t *testing.T) *dataDir {
	t.Helper()
	d := &dataDir{t: t, dir: t.TempDir(), free: 50 << 30}
	d.Laptop = doctor.Laptop{File: d.file("parley.db"), KeysFile: d.file("keys.env"), Layout: sqlite.Layout(),
		Now:  d.now,
		Free: func(string) (uint64, error) { return d.free, nil }}
	text, err := template()
	d.do(err)
	d.do(os.Chmod(d.dir, 0o700))
	d.write("parley.db", text, 0o600)
	d.write("keys.env", []byte("PARLEY_KEY=secret\n"), 0o600)
	return d
}

func (d *dataDir) now() time.Time {
	if d.at.IsZero() {
		return time.Now()
	}
	return d.at
}

func (d *dataDir) start() {
	d.t.Helper()
	var err error
	if d.open, err = sqlite.Open(d.t.Context(), d.File, app.Schema()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dataDir) stop() {
	d.t.Helper()
	if err := d.open.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// service returns the key service of a server.
func service(d *sqlite.Driver) *keys.Service {
	return &keys.Service{DB: store.New(d, app.Schema()), Now: time.Now, Toolsets: func() []string { return nil }}
}

func (d *dataDir) issue(user string, in keys.CreateInput) (id string) {
	d.t.Helper()
	made, err := service(d.open).Issue(d.t.Context(), user, in)
	if err != nil {
		d.t.Fatal(err)
	}
	return made.ID
}

// served runs do against the store as a server would.
func (d *dataDir) served(do func(ctx context.Context, s *keys.Service) error) {
	d.t.Helper()
	d.start()
	if err := do(d.t.Context(), service(d.open)); err != nil {
		d.t.Fatal(err)
	}
	d.stop()
}

// revoke revokes all keys.
func (d *dataDir) revoke() {
	me := identity.Caller{User: "local", Kind: identity.Human}
	d.served(func(ctx context.Context, s *keys.Service) error {
		page, err := s.List(ctx, me, keys.ListInput{Limit: 100})
		for _, k := range page.Keys {
			_, revoked := s.Revoke(ctx, me, keys.RevokeInput{KeyID: k.ID})
			err = errors.Join(err, revoked)
		}
		return err
	})
}

// sql changes the file directly, past the store.
func (d *dataDir) sql(statement string) {
	d.t.Helper()
	db, err := sql.Open("sqlite", d.File)
	if err == nil {
		_, err = db.ExecContext(d.t.Context(), statement)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *dataDir) write(name string, text []byte, mode os.FileMode) {
	d.t.Helper()
	if err := errors.Join(os.WriteFile(d.file(name), text, mode), os.Chmod(d.file(name), mode)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dataDir) do(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// laptopCases are changes of a store, its directory and its keys.
var laptopCases = []struct {
	name   string
	change func(*dataDir)
	want   map[string]string
}{
	{"a closed store is healthy", func(*dataDir) {}, map[string]string{
		"store": "ok parley.db & layout", "whole": "ok", "permissions": "ok", "disk": "ok 50.0 GiB free",
		"server": "skip keys.env", "keys": "ok 1 valid key, never used: alpha of local", "clock": "ok"}},
	{"an open store is healthy", func(d *dataDir) { d.start(); d.t.Cleanup(d.stop) }, nil},
	{"a missing store fails one check", func(d *dataDir) { d.do(os.Remove(d.File)) }, map[string]string{
		"store": "fail there is no store at & parley serve", "whole": "skip", "permissions": "skip", "keys": "skip",
		"clock": "skip"}},
	{"a missing directory is a missing store", func(d *dataDir) { d.do(os.RemoveAll(d.dir)) }, map[string]string{
		"store": "fail there is no store at", "whole": "skip", "permissions": "skip", "keys": "skip", "clock": "skip"}},
	{"a directory in place of the file is a failure", func(d *dataDir) {
		d.do(os.Remove(d.File))
		d.do(os.Mkdir(d.File, 0o700))
	}, map[string]string{
		"store": "fail is not a regular file", "whole": "fail", "keys": "skip", "clock": "skip"}},
	{"a file that is not a database is a failure", func(d *dataDir) {
		d.write("parley.db", bytes.Repeat([]byte("no database "), 1000), 0o600)
	}, map[string]string{
		"store": "fail not a database & parley restore", "whole": "fail", "keys": "skip", "clock": "skip"}},
	{"a damaged page is a failure", func(d *dataDir) {
		text, err := os.ReadFile(d.File)
		d.do(err)
		// All pages but the first two: the tables exist, and their content is damaged.
		copy(text[2*4096:], bytes.Repeat([]byte{0x5a}, len(text)))
		d.write("parley.db", text, 0o600)
	}, map[string]string{"whole": "fail damaged & parley restore", "clock": "skip"}},
	{"an empty file is not a store", func(d *dataDir) {
		d.write("parley.db", nil, 0o600)
	}, map[string]string{"store": "fail is not a store of Parley & --data", "keys": "skip", "clock": "skip"}},
	{"another database is not a store", func(d *dataDir) {
		d.sql(`DROP TABLE docs`)
	}, map[string]string{"store": "fail is not a store of Parley", "keys": "skip", "clock": "skip"}},
	{"a later layout is a failure", func(d *dataDir) {
		d.sql(fmt.Sprintf(`PRAGMA user_version = %d`, sqlite.Layout()+1))
	},
		map[string]string{
			"store": fmt.Sprintf("fail later version of Parley (layout %d, this one knows %d)", sqlite.Layout()+1,
				sqlite.Layout())}},
	{"an earlier layout is migrated at the next start", func(d *dataDir) {
		d.Layout++
	}, map[string]string{"store": fmt.Sprintf("ok the next start brings it to %d", sqlite.Layout()+1)}},

	{"a store that others can read is a failure", func(d *dataDir) {
		d.do(os.Chmod(d.File, 0o644))
	}, map[string]string{"permissions": "fail other users can read & parley.db (0644) & chmod 600"}},
	{"keys that others can read are a failure", func(d *dataDir) {
		d.do(os.Chmod(d.KeysFile, 0o640))
	}, map[string]string{"permissions": "fail other users can read & keys.env (0640)"}},
	{"a directory that others can write is a failure", func(d *dataDir) {
		d.do(os.Chmod(d.dir, 0o770))
	}, map[string]string{"permissions": "fail other users can replace & chmod 700"}},
	{"a directory that others can see into is a warning", func(d *dataDir) {
		d.do(os.Chmod(d.dir, 0o755))
	}, map[string]string{"permissions": "warn other users can list & chmod 700"}},

	{"little free space is a warning", func(d *dataDir) {
		d.free = 500 << 20
	}, map[string]string{"disk": "warn 500.0 MiB free"}},
	{"no free space is a failure", func(d *dataDir) {
		d.free = 4 << 10
	}, map[string]string{"disk": "fail 4.0 KiB free & free some space"}},
	{"no space for a backup is a warning", func(d *dataDir) {
		d.free = 2 << 30
		d.do(os.Truncate(d.File, 3<<30))
	}, map[string]string{"disk": "warn the store takes 3.0 GiB & a backup"}},
	{"a system without the number is skipped", func(d *dataDir) {
		d.Free = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
	}, map[string]string{"disk": "skip"}},

	{"no key at all is a failure", func(d *dataDir) {
		d.sql(`DELETE FROM docs`)
	}, map[string]string{"keys": "fail there is no valid key & parley key create"}},
	{"revoked keys are not valid", func(d *dataDir) {
		d.revoke()
	}, map[string]string{"keys": "fail there is no valid key"}},
	{"expired keys are not valid", func(d *dataDir) {
		d.revoke()
		d.served(func(context.Context, *keys.Service) error {
			d.issue("ann", keys.CreateInput{Program: "beta", Expires: 60})
			return nil
		})
		d.at = time.Now().Add(time.Minute)
	}, map[string]string{"keys": "fail there is no valid key"}},
	{"keys that expire within a week are a warning", func(d *dataDir) {
		d.served(func(context.Context, *keys.Service) error {
			d.issue("ann", keys.CreateInput{Program: "beta", Expires: int64((6 * 24 * time.Hour).Seconds())})
			d.issue("zoe", keys.CreateInput{Name: "phone", Expires: int64((9 * 24 * time.Hour).Seconds())})
			return nil
		})
	}, map[string]string{
		"keys": "warn 3 valid keys & phone of zoe & within a week beta of ann & expires on & !expires on " +
			time.Now().Add(9*24*time.Hour).UTC().Format(time.DateOnly)}},
	{"a person's key in a file of its own is local", func(d *dataDir) {
		d.write("human.env", []byte("export PARLEY_HUMAN_KEY=secret\n"), 0o600)
		d.HumanKey.File = d.file("human.env")
	}, map[string]string{"human": "ok human.env & which every process of your account can read & assurance local & !secret"}},
	{"a person's key that others can read is a failure", func(d *dataDir) {
		d.write("human.env", nil, 0o644)
		d.HumanKey.File = d.file("human.env")
	}, map[string]string{"permissions": "fail other users can read & human.env (0644)", "human": "ok"}},
	{"a person's key in the keyring is local", func(d *dataDir) {
		d.HumanKey.Account = "human-0123"
	}, map[string]string{"human": "ok in the keyring (parley, human-0123) & while it is unlocked & assurance local"}},
	{"a person's key beside those of the agents is a warning", func(d *dataDir) {
		d.HumanKey = doctor.HumanKey{File: d.KeysFile, Old: true}
	}, map[string]string{"human": "warn keys.env & beside those of the agents & parley serve"}},
	{"used keys are not listed", func(d *dataDir) {
		d.served(func(ctx context.Context, s *keys.Service) error {
			id := d.issue("ann", keys.CreateInput{Program: "beta"})
			return s.Touch(ctx, identity.Caller{User: "ann", KeyID: id})
		})
	}, map[string]string{"keys": "ok 2 valid keys, never used: alpha of local & !beta of ann"}},

	{"a file from the near future is a warning", func(d *dataDir) {
		d.at = time.Now()
		d.do(os.Chtimes(d.File, d.at, d.at.Add(30*time.Second)))
	}, map[string]string{"clock": "warn parley.db is 30s ahead"}},
	{"a key from the future is a failure", func(d *dataDir) {
		d.at = time.Now().Add(-time.Hour)
		for _, f := range []string{d.File, d.KeysFile} {
			d.do(os.Chtimes(f, d.at, d.at))
		}
	}, map[string]string{"clock": "fail alpha of local & timedatectl"}},
	{"a change from the future is a failure", func(d *dataDir) {
		d.at = time.Now()
		d.sql(
			fmt.Sprintf(`INSERT INTO changes (at, kind, u, c, id) VALUES (%d, 'created', 'u', 'c', 'i')`,
				d.at.Add(2*time.Hour).UnixMicro()))
	}, map[string]string{"clock": "fail the last change is 2h0m0s ahead"}},
}

func TestChecksOfAnEmbeddedStore(t *testing.T) {
	t.Parallel()
	for _, c := range laptopCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDataDir(t)
			c.change(d)
			want := map[string]string{"server": "skip", "human": "skip"}
			for check, w := range c.want {
				want[check] = w
			}
			wanted(t, examine(t, d.Checks(), ample), want)
		})
	}
}

func TestFreeSpaceIsAskedFromTheSystem(t *testing.T) {
	t.Parallel()
	d := newDataDir(t)
	d.Free = nil
	// The number depends on the machine.
	if got := examine(t, d.Checks(), ample)["disk"]; !strings.Contains(got.Said, "iB free in "+d.dir) {
		t.Error(got)
	}
}

func TestChecksChangeNothingOfAStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open bool
		want string
	}{{"closed", false, "1 valid key,"}, {"open", true, "2 valid keys,"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDataDir(t)
			if c.open {
				d.start()
				defer d.stop()
				// The checks see changes that are in the write-ahead log alone.
				d.issue("ann", keys.CreateInput{Program: "beta"})
			}
			before := contents(t, d.dir)
			got := examine(t, d.Checks(), ample)
			if !strings.HasPrefix(got["keys"].Said, c.want) {
				t.Errorf("%v; want %s", got["keys"], c.want)
			}
			after := contents(t, d.dir)
			if len(before) != len(after) {
				t.Errorf("the directory had %d files and has %d", len(before), len(after))
			}
			for name, text := range before {
				// Every reader notes its position in the log in -shm.
				if filepath.Ext(name) != ".db-shm" && !bytes.Equal(text, after[name]) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
