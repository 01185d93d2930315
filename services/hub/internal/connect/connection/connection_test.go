package connection_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/shared/store/emulator"
)

func full(id string) connection.Connection {
	return connection.Connection{ID: id, Client: "claude", Program: "claude", URL: "http://127.0.0.1:3001",
		Endpoint: "http://127.0.0.1:3001/mcp/x/agent", Project: "/src/app", Key: "parley_x_y", KeyID: "k", Hook: "/bin/parley-hook",
		Permissions: connection.Permissions{On: true, Timeout: 60, Allow: []string{"Read"}, Deny: []string{"Bash(rm *)"}},
		Wake:        connection.Wake{On: []string{"RESULT"}, PerHour: 3, PerSender: 1, Continue: true},
		ConnectedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func TestAWrittenConnectionIsReadAndWrittenOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "connections")
	want := full("claude-1")
	for i, changes := range []bool{true, false} {
		if changed, err := want.Write(dir); err != nil || changed != changes {
			t.Fatalf("write %d: changed %t, %v", i, changed, err)
		}
	}
	got, err := connection.Read(dir, "claude-1")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(dir, "claude-1.json"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory's mode is %v, %v", info.Mode(), err)
	}
	if err := connection.Remove(dir, "claude-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(dir, "claude-1"); !errors.Is(err, connection.ErrNone) {
		t.Errorf("a removed connection: %v", err)
	}
	if err := connection.Remove(dir, "claude-1"); err != nil {
		t.Errorf("removed again: %v", err)
	}
}

func TestAFileThatOthersReachIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "modes say nothing on Windows")
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660, 0o602, 0o620} {
		dir := t.TempDir()
		if _, err := full("c").Write(dir); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "c.json")
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Read(dir, "c"); err == nil || !strings.Contains(err.Error(), "others can read or write it") ||
			strings.Contains(err.Error(), "parley_x_y") {
			t.Errorf("%v: %v", mode, err)
		}
		if changed, err := full("c").Write(dir); err != nil || !changed {
			t.Errorf("%v: writing it again closes it: %t, %v", mode, changed, err)
		}
		if _, err := connection.Read(dir, "c"); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

func TestWhatIsNoConnectionIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"broken": "{", "other": `{"id":"another"}`, "empty": "",
		"large": `{"id":"large","key":"` + strings.Repeat("x", 1<<20) + `"}`} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := connection.Read(dir, name); err == nil || !strings.Contains(err.Error(), "is not a connection") ||
			!reflect.DeepEqual(c, connection.Connection{}) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(dir, "folder"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	for _, id := range []string{"", "../x", "A", "a/b", ".", "a.b", strings.Repeat("a", 65)} {
		if _, err := connection.Read(dir, id); err == nil || !strings.Contains(err.Error(), "is not the id") {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := full(id).Write(dir); err == nil {
			t.Errorf("%q is written", id)
		}
	}
}

func TestTheListIsSortedAndNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if all, err := connection.List(filepath.Join(dir, "none")); len(all) != 0 || err != nil {
		t.Errorf("without a directory: %v, %v", all, err)
	}
	for _, id := range []string{"b", "a"} {
		if _, err := full(id).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "wrong.json"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := connection.List(dir)
	if len(all) != 2 || all[0].ID != "a" || all[1].ID != "b" || err == nil || !strings.Contains(err.Error(), "wrong.json") {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestEachClientAndDirectoryHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range []string{"claude", "codex"} {
		for _, p := range []string{"", "/a", "/b"} {
			id := connection.ID(c, p)
			if seen[id] || id != connection.ID(c, p) {
				t.Errorf("%s %s: %s", c, p, id)
			}
			seen[id] = true
			if _, err := full(id).Write(t.TempDir()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTheDirectoryIsInTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		emulator.Skip(t, "the places differ by system")
	}
	for want, env := range map[string]map[string]string{
		"/h/.config/parley/connections": {"HOME": "/h"},
		"/x/parley/connections":         {"HOME": "/h", "XDG_CONFIG_HOME": "/x"},
		"/p/connections":                {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "PARLEY_CONFIG": "/p/"},
		"/g/.config/parley/connections": {"HOME": "/g", "XDG_CONFIG_HOME": "relative"},
	} {
		got, err := connection.Dir(func(name string) string { return env[name] })
		if got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	for _, env := range []map[string]string{nil, {"HOME": "h"}, {"HOME": "/h", "PARLEY_CONFIG": "here"}} {
		if got, err := connection.Dir(func(name string) string { return env[name] }); err == nil {
			t.Errorf("%v: %q", env, got)
		}
	}
}
