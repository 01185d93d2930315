//go:build !darwin && !freebsd && !linux

package datadir

import (
	"errors"
	"net"
)

// peerOf cannot tell the user at the other end of a connection on this system.
func peerOf(*net.UnixConn) (int, error) { return 0, errors.ErrUnsupported }
