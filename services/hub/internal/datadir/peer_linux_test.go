package datadir

import (
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
)

// aStranger names the socket that a process of another user dials.
const aStranger = "PARLEY_TEST_STRANGER"

// stranger dials a socket, which must be closed without a byte, and returns the exit code of the process.
func stranger(path string) int {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 2
	}
	if n, err := conn.Read(make([]byte, 9)); n > 0 || err != io.EOF {
		return 3
	}
	return 0
}

// dialAsAStranger runs this test as another user, whose process dials the socket s in the directory.
func dialAsAStranger(t *testing.T, dir string) {
	t.Helper()
	exe := dir + "/test"
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	executabletest.Write(t, exe, text)
	cmd := exec.Command(exe, "-test.run=^TestAttackAProcessOfAnotherUserIsNotServed$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), aStranger+"="+dir+"/s")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the stranger: %v, %s", err, out)
	}
}

// Only root can start a process of another user; for others the rule alone is tested.
func TestAttackAProcessOfAnotherUserIsNotServed(t *testing.T) {
	if path := os.Getenv(aStranger); path != "" {
		os.Exit(stranger(path))
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "parley-stranger-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := listen(dir + "/s")
	if err != nil {
		t.Fatal(err)
	}
	// The modes let everyone in, so that the user alone decides.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/s", 0o777); err != nil {
		t.Fatal(err)
	}
	served := make(chan int)
	go func() {
		n := 0
		for {
			conn, err := s.Accept()
			if err != nil {
				served <- n
				return
			}
			n++
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	want := 1
	if os.Getuid() == 0 {
		want = 0
		dialAsAStranger(t, dir)
	} else if conn, err := net.Dial("unix", dir+"/s"); err != nil {
		t.Error(err)
	} else if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := <-served; n != want {
		t.Errorf("%d connections were served, want %d", n, want)
	}
}
