package rest

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
)

// connKey is the context key of a request's connection.
type connKey struct{}

// WithConn returns the context of a connection's requests. Set it as the ConnContext of the server, so that [Delivered]
// can ask the connection itself whether its other end is there.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Delivered writes the buffered part of a response, and reports whether the caller can have it: the connection took all
// of it, and no end of the connection had arrived by then. A response without a Content-Length does not end before the
// handler returns, so its caller has no reason to close the connection before.
//
// net/http notices a closed connection too, but on a busy machine only some time after it has arrived.
func Delivered(c echo.Context) bool {
	ctx := c.Request().Context()
	if ctx.Err() != nil {
		return false
	}
	err := http.NewResponseController(c.Response().Writer).Flush()
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok && closed(conn) {
		return false
	}
	return ctx.Err() == nil
}
