package datadir

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"parley.internal/services/hub/internal/filelock"
	"parley.internal/services/hub/internal/keepout"
)

const (
	lockFile   = "parley.lock"
	socketFile = "parley.sock"
)

// Holder is the process that has a data directory.
type Holder struct {
	PID int `json:"pid"`
	// Command is its command, such as serve.
	Command string `json:"command"`
	// URL is the address of a server that has started and does not end, empty for others.
	URL string `json:"url,omitempty"`
	// Socket is the path of its socket, and Token the secret that a connection must present.
	Socket string `json:"socket,omitempty"`
	Token  string `json:"token,omitempty"`
}

// Taken is the error of a directory that another process has.
type Taken struct {
	Dir string
	Holder
}

// Error implements error.
func (t *Taken) Error() string {
	switch {
	case t.PID == 0:
		return fmt.Sprintf("another process has the data directory %s; try again when it has ended", t.Dir)
	case t.URL != "":
		return fmt.Sprintf("a server has the data directory %s already: it listens at %s (process %d); stop it, or name "+
			"another directory with --data", t.Dir, t.URL, t.PID)
	}
	return fmt.Sprintf("another process has the data directory %s: parley %s (process %d); try again when it has ended",
		t.Dir, t.Command, t.PID)
}

// Lock is the possession of a data directory.
type Lock struct {
	dir    string
	file   *os.File
	holder Holder
}

// between is the pause between two attempts to take a directory.
const between = 20 * time.Millisecond

// Take takes a directory, which it creates if it is missing, for a command. A server that has it is a [Taken] at once.
// For other processes, among them servers that start or end, Take waits for as long as patience before it is.
func Take(ctx context.Context, dir, command string, patience time.Duration) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the data directory: %w", err)
	}
	if err := keepout.Dir(dir); err != nil {
		return nil, fmt.Errorf("cannot keep git from the data directory: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of the data directory: %w", err)
	}
	l := &Lock{dir: dir, file: f}
	if err := l.take(ctx, patience); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l.cleanUp()
	l.holder = Holder{PID: os.Getpid(), Command: command}
	if err := l.write(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// TakeExisting is Take for a command that changes nothing. Where there is no lock yet, or it may not be written, no server
// has the directory that this user may see, and the Lock is nil.
func TakeExisting(ctx context.Context, dir, command string, patience time.Duration) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return nil, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return Take(ctx, dir, command, patience)
}

// take waits for the lock.
func (l *Lock) take(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		err := filelock.Try(l.file)
		if err == nil {
			return nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return fmt.Errorf("cannot lock the data directory %s: %w", l.dir, err)
		}
		// The file may have the text of a process that was killed just before another took the lock.
		h, _ := read(l.file)
		taken := &Taken{Dir: l.dir, Holder: h}
		if h.URL != "" && taken.answers(ctx) || time.Now().After(deadline) {
			return taken
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read returns the content of a lock file. It is not ok while its holder writes it.
func read(f io.ReaderAt) (h Holder, ok bool) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}, false
	}
	return h, true
}

func (l *Lock) write() error {
	text, err := json.Marshal(l.holder)
	if err != nil {
		return err
	}
	if err = l.file.Truncate(0); err == nil {
		_, err = l.file.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return fmt.Errorf("cannot write the lock of the data directory: %w", err)
	}
	return nil
}

// Serves tells other processes the address of the server that has the directory, and its socket.
func (l *Lock) Serves(url string, s *Socket) error {
	l.holder.URL, l.holder.Socket, l.holder.Token = url, s.path, s.Token
	return l.write()
}

// Ends tells other processes that the server ends, so that they wait until it has released the directory.
func (l *Lock) Ends() error {
	l.holder.URL, l.holder.Socket, l.holder.Token = "", "", ""
	return l.write()
}

// Dir returns the absolute path of the directory.
func (l *Lock) Dir() string { return l.dir }

// Release gives the directory to others.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), filelock.Release(l.file))
}

// cleanUp removes the socket of the process that had the directory before, if it was killed. One elsewhere that answers is
// that of another directory, of which this one is a copy.
func (l *Lock) cleanUp() {
	old := []string{filepath.Join(l.dir, socketFile)}
	if h, ok := read(l.file); ok && h.Socket != "" {
		old = append(old, h.Socket)
	}
	for _, path := range old {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
			continue
		}
		dir := filepath.Dir(path)
		if dir != l.dir && answers(path) {
			continue
		}
		_ = os.Remove(path) // a socket that stays is in nobody's way but that of Listen, which reports it
		if dir != l.dir {
			_ = os.Remove(dir)
		}
	}
}

func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func newToken() string { return rand.Text() }
