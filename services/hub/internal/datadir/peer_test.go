package datadir

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestAConnectionTellsItsUserAndThoseOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer, own int
		want      bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1000, 0, false}, {65534, 1000, false}} {
		if got := allowed(c.peer, c.own); got != c.want {
			t.Errorf("a process of %d at the socket of %d: %v", c.peer, c.own, got)
		}
	}
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for end, conn := range map[string]*net.UnixConn{"client": server, "server": client.(*net.UnixConn)} {
		uid, err := peerOf(conn)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the %s: %v", end, err)
		}
		if err == nil && uid != os.Getuid() {
			t.Errorf("the %s is of %d, want %d", end, uid, os.Getuid())
		}
	}
}
