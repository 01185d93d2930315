package cli

import (
	"log/slog"
	"net"
	"time"

	"golang.org/x/time/rate"
)

// plainListener accepts connections of HTTP, and logs those that begin with a handshake of TLS: the server closes them as
// malformed, and their client learns only that something is wrong.
type plainListener struct {
	net.Listener
	log *slog.Logger
	// some bounds the lines.
	some *rate.Sometimes
}

func ofPlainHTTP(l net.Listener, log *slog.Logger) net.Listener {
	return &plainListener{l, log, &rate.Sometimes{First: 3, Interval: 10 * time.Second}}
}

// Accept returns connections of TCP with all of their methods, because a response asks the connection itself whether its
// other end is there.
func (l *plainListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return &plainConn{TCPConn: tcp, of: l}, nil
	}
	return c, err
}

type plainConn struct {
	*net.TCPConn
	of   *plainListener
	read bool
}

// handshake is the type of the first record of TLS (RFC 8446, section 5.1).
const handshake = 0x16

func (c *plainConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 && !c.read {
		c.read = true
		if p[0] == handshake {
			c.of.some.Do(func() {
				c.of.log.Warn("refused", "reason", "the client speaks https to a server of plain http: give it a URL that begins with http://, "+
					"or put a TLS proxy before the server", "address", c.RemoteAddr().String())
			})
		}
	}
	return n, err
}
