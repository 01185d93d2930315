package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/services/hub/internal/trace"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
)

func (w *world) serveCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "serve", Short: "Serve MCP and REST", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.serve(cmd.Context(), &c) }}
	c.ServeFlags(cmd.Flags(), w.env)
	return cmd
}

// The times of a connection. An answer may take the longest wait and some.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 75 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 10 * time.Second
)

func (w *world) serve(ctx context.Context, c *config.Config) (err error) {
	if err := c.CheckServe(); err != nil {
		return err
	}
	tracer, err := trace.Start(ctx, w.env, version())
	if err != nil {
		return fmt.Errorf("cannot trace: %w", err)
	}
	o, err := open(ctx, c, tracer.GRPC()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.db.Close()) }()
	out := newLines(w.err)
	defer func() { err = errors.Join(err, out.Close()) }()
	log := logger(out)
	a := app.New(o.db, app.Ports{})
	a.Catalogue().Log = log
	a.Ledger.Failed = func(err error) { log.Error("ledger", "cause", err.Error()) }

	var off sync.WaitGroup // work that was begun off the path of a call
	defer off.Wait()
	handler, err := w.handler(c, a, log, &off)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w (choose another with --addr)", c.Addr, err)
	}
	if err := w.welcome(ctx, c, a, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	srv := &http.Server{Handler: tracer.Handler(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	off.Go(func() { a.Ledger.Run(loop) })
	if o.file != nil {
		off.Go(func() { tend(loop, o, a, log) })
	}

	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Waits end with nothing yet, so that the calls behind them can be drained.
	log.Info("draining")
	o.db.Drain()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	stop()
	// What was called up to here is in the ledger before the store is closed.
	return errors.Join(srv.Shutdown(end), a.Ledger.Flush(end), tracer.Close(end))
}

// benchRoutes is set by the build for the benchmark.
var benchRoutes func(*echo.Echo)

// handler wires the transports.
func (w *world) handler(c *config.Config, a *app.App, log *slog.Logger, off *sync.WaitGroup) (http.Handler, error) {
	authenticator := auth.New(a.Keys, time.Now, auth.Limits{Rate: c.Rate, Burst: c.Burst, TrustProxy: c.TrustProxy})
	a.Keys.Revoked = authenticator.Forget
	a.Keys.Used = func(caller identity.Caller) {
		off.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
			defer cancel()
			if err := a.Keys.Touch(ctx, caller); err != nil {
				log.Warn("a key's use was not noted", "cause", err.Error())
			}
		})
	}
	s := &rest.Server{Catalogue: a.Catalogue(), Auth: authenticator, Now: time.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Version: version(), Origins: c.Origins, Loopback: c.Loopback()}
	endpoint := &mcp.Endpoint{Catalogue: a.Catalogue(), Defaults: app.DefaultToolsets, Version: version(), Log: slog.New(slog.DiscardHandler)}
	return s.Echo(func(e *echo.Echo) {
		for _, path := range []string{"/mcp", "/v1/mcp"} {
			endpoint.Mount(e, path, authenticator)
		}
		if benchRoutes != nil {
			benchRoutes(e)
		}
	})
}

// url is where a client on this machine finds the server.
func url(c *config.Config, addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if given, _, err := net.SplitHostPort(c.Addr); err == nil && slices.Contains([]string{"localhost"}, given) {
		host = given
	}
	return "http://" + net.JoinHostPort(host, port)
}
