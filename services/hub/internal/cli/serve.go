package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
	"parley.internal/services/hub/internal/firebase"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/page"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/services/hub/internal/trace"
	"parley.internal/shared/app"
	"parley.internal/shared/cloudlog"
	"parley.internal/shared/elenchus/workspace"
	"parley.internal/shared/identity"
	"parley.internal/shared/ledger"
	"parley.internal/shared/push"
	"parley.internal/shared/push/fcm"
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
	log := cloudlog.New(out)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w (choose another with --addr)", c.Addr, err)
	}
	if c.PublicURL == "" && c.Loopback() {
		c.PublicURL = url(c, listener.Addr())
	}

	var off sync.WaitGroup // work that was begun off the path of a call
	defer off.Wait()
	a, handler, err := w.assemble(ctx, c, o, log, &off)
	if err == nil {
		err = w.welcome(ctx, c, a, listener.Addr())
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	srv := &http.Server{Handler: tracer.Handler(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout,
		IdleTimeout:  idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	off.Go(func() { a.Ledger.Run(loop) })
	if o.file != nil {
		follower, err := a.Follow(ctx, o.file, log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		off.Go(func() { follower.Run(loop) })
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

// assemble builds the services and what answers for them.
func (w *world) assemble(ctx context.Context, c *config.Config, o *opened, log *slog.Logger,
	off *sync.WaitGroup) (*app.App, http.Handler, error) {
	sender, err := sender(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	ports := app.Ports{Sender: sender, PublicURL: c.PublicURL}
	if c.Store == "firestore" { // where others may serve beside this one
		ports.Shard = rand.IntN(ledger.Shards)
	}
	if c.WorkspaceRoot != "" {
		root, err := workspace.Open(c.WorkspaceRoot)
		if err != nil {
			return nil, nil, fmt.Errorf("--workspace-root: %w", err)
		}
		ports.Workspace = workspace.Reader{Root: root}
	}
	a := app.New(o.db, ports)
	a.Catalogue().Log = log
	a.Ledger.Failed = func(err error) { log.Error("ledger", "cause", err.Error()) }
	known := firebase.Beside{Keys: a.Keys}
	if c.FirebaseProject != "" {
		if known.Tokens, err = firebase.New(ctx, c.FirebaseProject); err != nil {
			return nil, nil, err
		}
	}
	handler, err := w.handler(c, a, known, log, off)
	return a, handler, err
}

// sender rings devices for the embedded store's server: in the log, and by a push
// service where there is one. Over Firestore the functions do that.
func sender(ctx context.Context, c *config.Config, log *slog.Logger) (push.Sender, error) {
	out := push.Log{To: log}
	if c.Store == "sqlite" && (c.FCMProject != "" || c.FCMEndpoint != "") {
		service, err := fcm.New(ctx,
			fcm.Options{Project: cmp.Or(c.FCMProject, "demo-parley"), Endpoint: c.FCMEndpoint, Log: log})
		if err != nil {
			return nil, err
		}
		out.Then = service
	}
	return out, nil
}

// handler wires the transports.
func (w *world) handler(c *config.Config, a *app.App, known auth.Keys, log *slog.Logger,
	off *sync.WaitGroup) (http.Handler, error) {
	authenticator := auth.New(known, time.Now, auth.Limits{Rate: c.Rate, Burst: c.Burst, TrustProxy: c.TrustProxy})
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
	s := &rest.Server{Catalogue: a.Catalogue(), Auth: authenticator, Now: time.Now, NewID: func() string {
		return uuid.Must(uuid.NewV7()).String()
	},
		Version: version(), Origins: c.Origins, Loopback: c.Loopback()}
	endpoint := &mcp.Endpoint{Catalogue: a.Catalogue(), Version: version(),
		Log: slog.New(slog.DiscardHandler)}
	site := page.Site{Firebase: signIn(c),
		Redeem: func(r *http.Request, code string) (out string, until time.Time, err error) {
			err = authenticator.Guard(r, func() error {
				made, err := a.Keys.Redeem(r.Context(), code)
				out, until = made.Key, made.ExpiresAt
				return err
			})
			return out, until, err
		}}
	return s.Echo(func(e *echo.Echo) {
		site.Mount(e)
		for _, path := range []string{"/mcp", "/v1/mcp"} {
			endpoint.Mount(e, path, authenticator)
		}
		if benchRoutes != nil {
			benchRoutes(e)
		}
	})
}

// signIn is how the page signs people in by Firebase.
func signIn(c *config.Config) page.Firebase {
	f := page.Firebase{APIKey: c.FirebaseAPIKey}
	if c.AuthEmulatorHost != "" {
		f.APIKey = cmp.Or(f.APIKey, "emulator")
		f.AuthURL = "http://" + c.AuthEmulatorHost + "/identitytoolkit.googleapis.com"
		f.TokenURL = "http://" + c.AuthEmulatorHost + "/securetoken.googleapis.com"
	}
	return f
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
