package connectd_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/local"
)

func TestADaemonWhoseDirectoryWasRemovedLeavesItsSuccessorAlone(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	first := daemon(t, m, connectd.Options{})
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(place.Dir); err != nil {
		t.Fatal(err)
	}
	second := daemon(t, m, connectd.Options{})
	first()
	if _, err := connectd.Status(t.Context(), m.Getenv); err != nil {
		t.Errorf("the successor is not reached: %v", err)
	}
	second()
	path, err := place.Socket()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a daemon leaves its socket behind: %v", err)
	}
}

func TestADaemonBelowALongPathIsFoundAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	m.Env[connection.Variable] = filepath.Join(m.Dir, strings.Repeat("deep", 30))
	m.Connect(m.Conn)
	stop := daemon(t, m, connectd.Options{})
	if got := m.Hook("t1", "SessionStart", nil).Context(); !strings.Contains(got, "You are claude/1") {
		t.Errorf("the start says %q", got)
	}
	info, err := connectd.Status(t.Context(), m.Getenv)
	if err != nil || len(info.Sessions) != 1 {
		t.Errorf("the daemon tells %+v, %v", info, err)
	}
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	path, err := place.Socket()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the socket is left behind: %v", err)
	}
	if _, err := connectd.Status(t.Context(), m.Getenv); !errors.Is(err, connectd.ErrNone) {
		t.Errorf("after its end: %v", err)
	}
}
