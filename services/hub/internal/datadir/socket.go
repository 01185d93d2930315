package datadir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// longestPath is a length of paths that every system accepts for a socket, in bytes.
const longestPath = 100

// Socket is the listener of a server for the commands of operators. It accepts connections of its own user and of root
// alone, where the system tells the user of a connection.
type Socket struct {
	*net.UnixListener
	path, private string
	// Token is the secret that a connection must present.
	Token string
}

// Listen opens the socket of the directory. Where its path is too long for a socket, or the file system has none, the
// socket is in a private temporary directory.
func (l *Lock) Listen() (*Socket, error) {
	path := filepath.Join(l.dir, socketFile)
	if len(path) <= longestPath {
		if s, err := listen(path); err == nil {
			return s, nil
		}
	}
	for _, root := range []string{os.TempDir(), "/tmp"} {
		private, err := os.MkdirTemp(root, "parley-") // of mode 0700
		if err != nil {
			continue
		}
		s, err := listen(filepath.Join(private, "s"))
		if err == nil {
			s.private = private
			return s, nil
		}
		_ = os.Remove(private)
	}
	return nil, fmt.Errorf("cannot open a socket for commands, neither in %s nor in %s", l.dir, os.TempDir())
}

func listen(path string) (*Socket, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// Until the mode is set, the users of connections and the token keep others out.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &Socket{UnixListener: ln, path: path, Token: newToken()}, nil
}

// Accept waits for a connection that may be served, and closes others.
func (s *Socket) Accept() (net.Conn, error) {
	for {
		conn, err := s.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn, os.Getuid()); err == nil {
			return conn, nil
		}
		_ = conn.Close() // nothing was read from it
	}
}

// Close ends the listener and removes the socket.
func (s *Socket) Close() error {
	err := s.UnixListener.Close()
	if s.private != "" && err == nil {
		err = os.Remove(s.private)
	}
	return err
}

// Dial connects to the server that has the directory. The other end must be a process of the user who owns the lock
// file, or of root.
func (t *Taken) Dial(ctx context.Context) (net.Conn, error) {
	owner, err := ownerOf(filepath.Join(t.Dir, lockFile))
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", t.Socket)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn.(*net.UnixConn), owner); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// answers reports whether the socket of a server accepts connections.
func (t *Taken) answers(ctx context.Context) bool {
	conn, err := t.Dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// checkPeer returns an error unless the process at the other end of a connection is one of a user or of root, or the
// system does not tell.
func checkPeer(conn *net.UnixConn, user int) error {
	uid, err := peerOf(conn)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	if !allowed(uid, user) {
		return fmt.Errorf("the other end of the socket is a process of the user %d, not of %d", uid, user)
	}
	return nil
}

// allowed reports whether a process of the user uid may be at the other end of a socket of another user: root alone,
// who may read the directory anyway.
func allowed(uid, user int) bool { return uid == user || uid == 0 }
