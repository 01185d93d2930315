package connectd_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

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
