//go:build !windows

package connection

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// owned is a file as another user's.
type owned struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (o owned) Sys() any { return &o.stat }

func TestAFileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	o := owned{info, *info.Sys().(*syscall.Stat_t)}
	if err := ownOnly(o); err != nil {
		t.Errorf("the user's own: %v", err)
	}
	o.stat.Uid++
	if err := ownOnly(o); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("another's: %v", err)
	}
}
