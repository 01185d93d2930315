//go:build unix

package rest

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// closed reports whether the other end has closed the connection, as far as this machine knows. It takes no bytes off
// the connection.
func closed(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	if err := raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = n == 0 && err == nil || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	}); err != nil {
		return true // it was closed at this end
	}
	return gone
}
