//go:build darwin || freebsd

package datadir

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// solLocal is the level of the options of Unix sockets.
const solLocal = 0

// peerOf returns the user of the process at the other end of a connection.
func peerOf(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptXucred(int(fd), solLocal, unix.LOCAL_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
