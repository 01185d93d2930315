package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/datadir"
	"parley.internal/services/hub/internal/portowner"
)

// listen listens on an address. The error of one that is taken names its owner.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: %s listens there (stop it, or choose another address with --addr)", addr,
			portowner.Describe(ctx, addr))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w (choose another with --addr)", addr, err)
	}
	return listener, nil
}

// claim listens on the address of a server and takes its data directory, nil over Firestore. A directory that a server
// has had is taken first, because one that ends still listens; a new one is made only once the server listens, so that
// a start that is refused leaves nothing.
func claim(ctx context.Context, c *config.Config) (listener net.Listener, lock *datadir.Lock, err error) {
	if c.Store == "sqlite" {
		if lock, err = datadir.TakeExisting(ctx, c.Data, "serve", servePatience); err != nil {
			return nil, nil, err
		}
	}
	if listener, err = listen(ctx, c.Addr); err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Release())
		}
		return nil, nil, err
	}
	if c.Store == "sqlite" && lock == nil {
		if lock, err = datadir.Take(ctx, c.Data, "serve", servePatience); err != nil {
			return nil, nil, errors.Join(err, listener.Close())
		}
	}
	return listener, lock, nil
}

// warn says at the start of a server which of its settings let others do more than their operator may have meant.
func warn(c *config.Config, listens net.Addr, log *slog.Logger) {
	host, port, err := net.SplitHostPort(listens.String())
	if err == nil && c.Store == "sqlite" && net.ParseIP(host).IsUnspecified() {
		log.Warn("every machine that reaches this one can call the server, over HTTP without TLS; for this machine alone give "+
			"--addr 127.0.0.1:"+port+", for others put a TLS proxy in front of that", "addr", c.Addr)
	}
	if c.Loopback() && c.Rate == 0 && c.UserRate == 0 && (c.TrustProxy > 0 || strings.HasPrefix(c.PublicURL, "https://")) {
		log.Warn("others call the server through a proxy, and it has no limit of rate, as it listens on loopback: give "+
			"--rate 50 --burst 200, and --quota-bytes for a limit of what a user keeps", "addr", c.Addr)
	}
}
