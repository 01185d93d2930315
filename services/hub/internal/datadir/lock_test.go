package datadir_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/services/hub/internal/datadir"
)

func take(t *testing.T, dir, command string) *datadir.Lock {
	t.Helper()
	l, err := datadir.Take(t.Context(), dir, command, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// accept accepts connections and closes them, until the socket is closed.
func accept(s *datadir.Socket) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	return done
}

func TestADirectoryIsOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "data")
	first := take(t, dir, "key create")
	var taken *datadir.Taken
	_, err := datadir.Take(t.Context(), dir, "serve", 0)
	if !errors.As(err, &taken) || taken.PID != os.Getpid() || taken.Command != "key create" || taken.Socket != "" ||
		!strings.Contains(err.Error(), "parley key create (process") {
		t.Fatalf("beside a command: %v", err)
	}
	// A process that waits gets the lock when it is released.
	got := make(chan *datadir.Lock)
	go func() { l, _ := datadir.Take(t.Context(), dir, "backup", time.Minute); got <- l }()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if second := <-got; second == nil || second.Release() != nil {
		t.Error("who waited did not get the directory")
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "parley.lock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAServerIsToldAtOnceWithItsAddressAndItsSocket(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"a short path": filepath.Join(t.TempDir(), "d"),
		"a path that is too long for a socket": filepath.Join(t.TempDir(), strings.Repeat("long", 20),
			strings.Repeat("path", 20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := take(t, dir, "serve")
			s, err := l.Listen()
			if err != nil {
				t.Fatal(err)
			}
			ended := accept(s)
			if err := l.Serves("http://127.0.0.1:3001", s); err != nil {
				t.Fatal(err)
			}
			var taken *datadir.Taken
			if _, err := datadir.Take(t.Context(), dir, "serve", time.Hour); !errors.As(err, &taken) || taken.Token != s.Token ||
				!strings.Contains(err.Error(), "it listens at http://127.0.0.1:3001") {
				t.Fatalf("got %v", err)
			}
			info, err := os.Stat(taken.Socket)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v, %v", info, err)
			}
			above, err := os.Stat(filepath.Dir(taken.Socket))
			if err != nil || above.Mode().Perm() != 0o700 {
				t.Errorf("its directory: %v, %v", above, err)
			}
			c, err := taken.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(make([]byte, 9)); err != nil || n != 5 {
				t.Errorf("read %d, %v", n, err)
			}
			if err := errors.Join(c.Close(), l.Ends(), s.Close()); err != nil {
				t.Fatal(err)
			}
			<-ended
			if _, err := os.Lstat(taken.Socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket stayed: %v", err)
			}
			if in := filepath.Dir(taken.Socket); in != dir {
				if _, err := os.Lstat(in); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("its temporary directory stayed: %v", err)
				}
			}
			// A server that ends is waited for.
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := datadir.Take(ctx, dir, "serve", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("beside a server that ends: %v", err)
			}
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The file of a killed process must not be taken for the file of the process that has the lock now.
func TestWhatAKilledServerLeftIsNotBelievedAndIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	killed := take(t, dir, "serve")
	s, err := killed.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Serves("http://127.0.0.1:1", s); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(filepath.Join(dir, "parley.lock"))
	if err != nil {
		t.Fatal(err)
	}
	s.SetUnlinkOnClose(false)
	if err := errors.Join(s.UnixListener.Close(), killed.Release()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "parley.lock"), left, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := filepath.Glob(filepath.Join(os.TempDir(), "parley-*", "s"))
	if err != nil || len(socket) == 0 {
		t.Fatalf("%v, %v", socket, err)
	}
	now := take(t, dir, "serve")
	for _, path := range socket {
		if strings.Contains(string(left), path) {
			if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s stayed: %v", path, err)
			}
		}
	}
	// As between the lock and its first word.
	if err := os.WriteFile(filepath.Join(dir, "parley.lock"), left, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := datadir.Take(ctx, dir, "key list", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the word of a killed server: %v", err)
	}
	if err := now.Release(); err != nil {
		t.Fatal(err)
	}
}

// The lock of a copied directory names the socket of the server of the original.
func TestACopyOfADirectoryLeavesTheSocketOfItsServer(t *testing.T) {
	t.Parallel()
	served, copied := filepath.Join(t.TempDir(), "d"), t.TempDir()
	l := take(t, served, "serve")
	s, err := l.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := accept(s)
	if err := l.Serves("http://127.0.0.1:3001", s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(served, "parley.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "parley.lock"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := take(t, copied, "serve")
	var taken *datadir.Taken
	if _, err := datadir.Take(t.Context(), served, "key list", time.Hour); !errors.As(err, &taken) {
		t.Fatal(err)
	}
	c, err := taken.Dial(t.Context())
	if err != nil {
		t.Fatalf("the server cannot be reached any more: %v", err)
	}
	if err := errors.Join(c.Close(), other.Release(), s.Close(), l.Release()); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestOfManyAtTheSameInstantOneHasTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var inside, most, rounds atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				l, err := datadir.Take(t.Context(), dir, "key create", time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), inside.Add(1)))
				rounds.Add(1)
				inside.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || rounds.Load() != 80 {
		t.Errorf("%d had it at once, %d in all", most.Load(), rounds.Load())
	}
}

func TestACommandThatChangesNothingCreatesNoLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if l, err := datadir.TakeExisting(t.Context(), dir, "doctor", 0); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	first := take(t, dir, "restore")
	var taken *datadir.Taken
	if _, err := datadir.TakeExisting(t.Context(), dir, "doctor", 0); !errors.As(err, &taken) {
		t.Errorf("beside another: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestASocketInTheWayIsNotDialedForAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, err := net.Listen("unix", filepath.Join(dir, "parley.sock"))
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	defer old.Close()
	l := take(t, dir, "serve") // which removes the remains of a killed server
	s, err := l.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr().String() != filepath.Join(dir, "parley.sock") {
		t.Errorf("the socket is %v", s.Addr())
	}
	if err := errors.Join(s.Close(), l.Release()); err != nil {
		t.Fatal(err)
	}
}
