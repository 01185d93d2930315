package doctor_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// desk is a data directory with a store that a server had open, and its keys.
type desk struct {
	t    *testing.T
	dir  string
	at   time.Time // what the clock says; the machine's where it is zero
	free uint64
	doctor.Laptop
	open *sqlite.Driver // while a server has it open
}

func (d *desk) file(name string) string { return filepath.Join(d.dir, name) }

// template is a store with one key, made once.
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

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), free: 50 << 30}
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

func (d *desk) now() time.Time {
	if d.at.IsZero() {
		return time.Now()
	}
	return d.at
}

func (d *desk) start() {
	d.t.Helper()
	var err error
	if d.open, err = sqlite.Open(d.t.Context(), d.File, app.Schema()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) stop() {
	d.t.Helper()
	if err := d.open.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// service makes keys as a server does.
func service(d *sqlite.Driver) *keys.Service {
	return &keys.Service{DB: store.New(d, app.Schema()), Now: time.Now, Toolsets: func() []string { return nil }}
}

func (d *desk) issue(user string, in keys.CreateInput) (id string) {
	d.t.Helper()
	made, err := service(d.open).Issue(d.t.Context(), user, in)
	if err != nil {
		d.t.Fatal(err)
	}
	return made.ID
}

// served does something to the store as a server would.
func (d *desk) served(do func(ctx context.Context, s *keys.Service) error) {
	d.t.Helper()
	d.start()
	if err := do(d.t.Context(), service(d.open)); err != nil {
		d.t.Fatal(err)
	}
	d.stop()
}

// revoke ends all keys that there are.
func (d *desk) revoke() {
	me := identity.Caller{User: "local", Kind: identity.Human}
	d.served(func(ctx context.Context, s *keys.Service) error {
		page, err := s.List(ctx, me, keys.ListInput{})
		for _, k := range page.Keys {
			_, revoked := s.Revoke(ctx, me, keys.RevokeInput{KeyID: k.ID})
			err = errors.Join(err, revoked)
		}
		return err
	})
}

// sql does to the file what no program of Parley's does.
func (d *desk) sql(statement string) {
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

func (d *desk) write(name string, text []byte, mode os.FileMode) {
	d.t.Helper()
	if err := errors.Join(os.WriteFile(d.file(name), text, mode), os.Chmod(d.file(name), mode)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) do(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// desks is what may be the matter with a store, its directory and its keys.
var desks = []struct {
	name   string
	change func(*desk)
	want   map[string]string
}{
	{"a store that was closed is well", func(*desk) {}, map[string]string{
		"store": "ok parley.db & layout", "whole": "ok", "permissions": "ok", "disk": "ok 50.0 GiB free",
		"server": "skip keys.env", "keys": "ok 1 good key, of them never used: alpha of local", "clock": "ok"}},
	{"a store that a server has open is well", func(d *desk) { d.start(); d.t.Cleanup(d.stop) }, nil},
	{"no store is told once", func(d *desk) { d.do(os.Remove(d.File)) }, map[string]string{
		"store": "fail there is no store at & parley serve", "whole": "skip", "permissions": "skip", "keys": "skip",
		"clock": "skip"}},
	{"no directory is told", func(d *desk) { d.do(os.RemoveAll(d.dir)) }, map[string]string{
		"store": "fail there is no store at", "whole": "skip", "permissions": "skip", "keys": "skip", "clock": "skip"}},
	{"a directory in the place of the file is told", func(d *desk) {
		d.do(os.Remove(d.File))
		d.do(os.Mkdir(d.File, 0o700))
	}, map[string]string{
		"store": "fail is no file", "whole": "fail", "keys": "skip", "clock": "skip"}},
	{"what is no database is told", func(d *desk) {
		d.write("parley.db", bytes.Repeat([]byte("no database "), 1000), 0o600)
	}, map[string]string{
		"store": "fail not a database & parley restore", "whole": "fail", "keys": "skip", "clock": "skip"}},
	{"a page that is damaged is told", func(d *desk) {
		text, err := os.ReadFile(d.File)
		d.do(err)
		// All but the first two pages: the tables are there, and what is in them is not.
		copy(text[2*4096:], bytes.Repeat([]byte{0x5a}, len(text)))
		d.write("parley.db", text, 0o600)
	}, map[string]string{"whole": "fail damaged & parley restore", "clock": "skip"}},
	{"an empty file is no store", func(d *desk) {
		d.write("parley.db", nil, 0o600)
	}, map[string]string{"store": "fail is no store of Parley & --data", "keys": "skip", "clock": "skip"}},
	{"a database of something else is no store", func(d *desk) {
		d.sql(`DROP TABLE docs`)
	}, map[string]string{"store": "fail is no store of Parley", "keys": "skip", "clock": "skip"}},
	{"a later layout is a failure", func(d *desk) { d.sql(fmt.Sprintf(`PRAGMA user_version = %d`, sqlite.Layout()+1)) },
		map[string]string{
			"store": fmt.Sprintf("fail later version of Parley (layout %d, this one knows %d)", sqlite.Layout()+1,
				sqlite.Layout())}},
	{"an earlier layout is brought forward", func(d *desk) {
		d.Layout++
	}, map[string]string{"store": fmt.Sprintf("ok the next start brings it to %d", sqlite.Layout()+1)}},

	{"a store that others can read is a failure", func(d *desk) {
		d.do(os.Chmod(d.File, 0o644))
	}, map[string]string{"permissions": "fail parley.db is open to others (0644) & chmod 600"}},
	{"keys that others can read are a failure", func(d *desk) {
		d.do(os.Chmod(d.KeysFile, 0o640))
	}, map[string]string{"permissions": "fail keys.env is open to others (0640)"}},
	{"a directory that others can write is a failure", func(d *desk) {
		d.do(os.Chmod(d.dir, 0o770))
	}, map[string]string{"permissions": "fail others can replace & chmod 700"}},
	{"a directory that others can see into is a warning", func(d *desk) {
		d.do(os.Chmod(d.dir, 0o755))
	}, map[string]string{"permissions": "warn others can see & chmod 700"}},

	{"little room is a warning", func(d *desk) {
		d.free = 500 << 20
	}, map[string]string{"disk": "warn 500.0 MiB free"}},
	{"no room is a failure", func(d *desk) {
		d.free = 4 << 10
	}, map[string]string{"disk": "fail 4.0 KiB free & make room"}},
	{"room for no backup is a warning", func(d *desk) {
		d.free = 2 << 30
		d.do(os.Truncate(d.File, 3<<30))
	}, map[string]string{"disk": "warn the store has 3.0 GiB & a backup"}},
	{"a system that does not tell is skipped", func(d *desk) {
		d.Free = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
	}, map[string]string{"disk": "skip"}},

	{"no key at all is a failure", func(d *desk) {
		d.sql(`DELETE FROM docs`)
	}, map[string]string{"keys": "fail no key is good & parley key create"}},
	{"revoked keys are none", func(d *desk) { d.revoke() }, map[string]string{"keys": "fail no key is good"}},
	{"keys that have ended are none", func(d *desk) {
		d.revoke()
		d.served(func(context.Context, *keys.Service) error {
			d.issue("ann", keys.CreateInput{Program: "beta", Expires: 60})
			return nil
		})
		d.at = time.Now().Add(time.Minute)
	}, map[string]string{"keys": "fail no key is good"}},
	{"keys that end within a week are a warning", func(d *desk) {
		d.served(func(context.Context, *keys.Service) error {
			d.issue("ann", keys.CreateInput{Program: "beta", Expires: int64((6 * 24 * time.Hour).Seconds())})
			d.issue("zoe", keys.CreateInput{Name: "phone", Expires: int64((9 * 24 * time.Hour).Seconds())})
			return nil
		})
	}, map[string]string{"keys": "warn 3 good keys & phone of zoe & within a week beta of ann & ends on & !ends on " +
		time.Now().Add(9*24*time.Hour).UTC().Format(time.DateOnly)}},
	{"keys that are used are not told of", func(d *desk) {
		d.served(func(ctx context.Context, s *keys.Service) error {
			id := d.issue("ann", keys.CreateInput{Program: "beta"})
			return s.Touch(ctx, identity.Caller{User: "ann", KeyID: id})
		})
	}, map[string]string{"keys": "ok 2 good keys, of them never used: alpha of local & !beta of ann"}},

	{"a file of a time to come is a warning", func(d *desk) {
		d.at = time.Now()
		d.do(os.Chtimes(d.File, d.at, d.at.Add(30*time.Second)))
	}, map[string]string{"clock": "warn parley.db is 30s ahead"}},
	{"a key of a time to come is a failure", func(d *desk) {
		d.at = time.Now().Add(-time.Hour)
		for _, f := range []string{d.File, d.KeysFile} {
			d.do(os.Chtimes(f, d.at, d.at))
		}
	}, map[string]string{"clock": "fail alpha of local & timedatectl"}},
	{"a change of a time to come is a failure", func(d *desk) {
		d.at = time.Now()
		d.sql(
			fmt.Sprintf(`INSERT INTO changes (at, kind, u, c, id) VALUES (%d, 'created', 'u', 'c', 'i')`,
				d.at.Add(2*time.Hour).UnixMicro()))
	}, map[string]string{"clock": "fail the last change is 2h0m0s ahead"}},
}

func TestAStoreIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range desks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			c.change(d)
			want := map[string]string{"server": "skip"}
			for check, w := range c.want {
				want[check] = w
			}
			wanted(t, examine(t, d.Checks(), ample), want)
		})
	}
}

func TestTheSystemIsAskedHowMuchIsFree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Free = nil
	// How much it is on this machine is not known here.
	if got := examine(t, d.Checks(), ample)["disk"]; !strings.Contains(got.Said, "iB free in "+d.dir) {
		t.Error(got)
	}
}

func TestNothingOfAStoreIsChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open bool
		want string
	}{{"closed", false, "1 good key,"}, {"open", true, "2 good keys,"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			if c.open {
				d.start()
				defer d.stop()
				// What is in the log alone is seen too.
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
				// Which part of the log who reads is noted in -shm by every reader.
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

func TestAServerIsToldAsItAnswers(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name string
		code int
		body string
		want string
	}{
		{"one that is well", 200, `{"success":true,"data":{"status":"ok","version":"v1.2.3"}}`,
			"ok Parley v1.2.3 serves at http://127.0.0.1:"},
		{"one that is ill", 503, `{"success":true}`, "warn no Parley that is well (503)"},
		{"one that refuses", 200, `{"success":false}`, "warn no Parley that is well (200)"},
		{"another program", 200, `<html>`, "warn another program"},
		{"none", 0, "", "skip none answers at " + gone.URL},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.Server = gone.URL
			if c.code != 0 {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/v1/health" || r.Header.Get("Authorization") != "" {
						t.Errorf("it is asked %s with %v", r.URL, r.Header)
					}
					w.WriteHeader(c.code)
					_, _ = w.Write([]byte(c.body))
				}))
				defer server.Close()
				d.Server = server.URL
			}
			wanted(t, examine(t, d.Checks(), ample), map[string]string{"server": c.want})
		})
	}
}
