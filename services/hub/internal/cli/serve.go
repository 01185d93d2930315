package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/answers"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/bodies"
	"parley.internal/services/hub/internal/cloud"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/datadir"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/memory"
	"parley.internal/services/hub/internal/page"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/services/hub/internal/signin"
	"parley.internal/shared/app"
	"parley.internal/shared/cloudlog"
	"parley.internal/shared/elenchus"
	"parley.internal/shared/elenchus/workspace"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/ledger"
	"parley.internal/shared/me"
	"parley.internal/shared/op"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
)

func (w *world) serveCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "serve", Short: "Serve MCP and REST", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.serve(cmd.Context(), &c) }}
	c.ServeFlags(cmd.Flags(), w.env)
	cmd.SetFlagErrorFunc(flagError)
	return cmd
}

// flagError adds the right spelling to an error of the command line. A --trust-proxy without a number at the end of the
// line is from the time when it was true or false.
func flagError(_ *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) && missing.GetFlag().Name == "trust-proxy" {
		return fmt.Errorf("%w: it is a number now: write --trust-proxy 1 for one proxy", err)
	}
	return err
}

// The limits of a connection. An answer may take the longest wait of a call, and some more.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 75 * time.Second
	maxHeader     = 64 << 10 // bytes, the URL included
	idleTimeout   = 2 * time.Minute
)

func (w *world) serve(ctx context.Context, c *config.Config) (err error) {
	if err := c.CheckServe(); err != nil {
		return err
	}
	room, err := memory.Limit()
	if err != nil {
		return err
	}
	c.FitTo(room)
	tracer, err := cloud.Trace(ctx, w.env, version())
	if err != nil {
		return fmt.Errorf("cannot trace: %w", err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		err = errors.Join(err, tracer.Close(end))
	}()
	listener, lock, err := claim(ctx, c)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	o, err := open(ctx, c, tracer)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, o.db.Close()) }()
	out := newLines(w.err)
	defer func() { err = errors.Join(err, out.Close()) }()
	log := w.log(out)
	warn(c, listener.Addr(), log)
	if c.PublicURL == "" && c.Loopback() {
		c.PublicURL = url(c, listener.Addr())
	}
	return w.run(ctx, c, o, lock, listener, tracer, log, room)
}

// log returns the logger of the server: lines for a person where the standard error is a terminal, and JSON elsewhere.
func (w *world) log(out io.Writer) *slog.Logger {
	if w.watched {
		return slog.New(tint.NewTextHandler(out, &tint.Options{NoColor: true, TimeFormat: time.TimeOnly}))
	}
	return cloudlog.New(out)
}

// run serves the open store on a listener, which it closes, until ctx ends, and then drains.
func (w *world) run(ctx context.Context, c *config.Config, o *opened, lock *datadir.Lock, listener net.Listener,
	tracer *cloud.Tracer, log *slog.Logger, room int64) error {
	var background sync.WaitGroup
	defer background.Wait()
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	recording, stopRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRecording()
	a, handler, err := w.assemble(ctx, c, o, log, &background, room)
	if err == nil {
		err = w.welcome(ctx, c, a, listener.Addr())
	}
	s := server{store: o, app: a, log: log}
	if err == nil && lock != nil {
		s.desk, err = openDesk(lock, localOperator(o, a), url(c, listener.Addr()), log)
	}
	if err == nil && o.file != nil {
		err = s.react(ctx, loop, &background)
	}
	if err != nil {
		return errors.Join(err, listener.Close(), s.desk.close(ctx))
	}
	background.Go(func() { a.Ledger.Run(recording) })
	s.http = bounded(tracer.Handler(handler))
	s.http.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(ofPlainHTTP(listener, log)) }()
	select {
	case err := <-failed:
		return errors.Join(err, s.desk.close(ctx))
	case <-ctx.Done():
	}
	stop()
	return s.drain(context.WithoutCancel(ctx))
}

// bounded returns a server with limits on everything that a connection does, so that one of whose other end nothing is
// heard any more is closed in the end.
func bounded(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ConnContext: rest.WithConn}
}

// benchRoutes adds the routes of the benchmark. The build tag parleybench sets it.
var benchRoutes func(*echo.Echo)

// assemble creates the services and their HTTP handler. Work that outlives a call runs in background.
func (w *world) assemble(ctx context.Context, c *config.Config, o *opened, log *slog.Logger,
	background *sync.WaitGroup, room int64) (*app.App, http.Handler, error) {
	sender, err := sender(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	ways, err := direct(ctx, c, o, log)
	if err != nil {
		return nil, nil, err
	}
	ports := app.Ports{Sender: sender, Direct: ways, Listens: c.Store == "sqlite", PublicURL: c.PublicURL,
		KeepIdle: c.KeepIdle}
	if c.Store == "firestore" { // several servers may share the store
		ports.Shard = rand.IntN(ledger.Shards)
	}
	if c.WorkspaceRoot != "" {
		root, err := workspace.Open(c.WorkspaceRoot)
		if err != nil {
			return nil, nil, fmt.Errorf("--workspace-root: %w", err)
		}
		ports.Workspace = func(user string) elenchus.Reader {
			if !slices.Contains(c.WorkspaceUsers, user) {
				return nil
			}
			return workspace.Reader{Root: root}
		}
	}
	ports.Limits = me.Limits{CallsPerSecond: max(c.Rate, 0), Burst: c.Burst, BodyBytes: rest.MaxBody, Waits: c.WaitsKey,
		Documents: c.QuotaDocuments, Bytes: c.QuotaBytes}
	ports.Quota = store.Usage{Documents: c.QuotaDocuments, Bytes: c.QuotaBytes}
	a := app.New(o.db, ports)
	a.Catalogue().Log = log
	a.Catalogue().Waits = &op.Waits{Key: c.WaitsKey, User: c.WaitsUser, All: c.Waits}
	a.Ledger.Failed = func(err error) { log.Error("ledger", "cause", err.Error()) }
	known := auth.Beside{Keys: a.Keys}
	if c.FirebaseProject != "" {
		if known.Tokens, err = cloud.SignIns(ctx, c.FirebaseProject, c.Allow); err != nil {
			return nil, nil, err
		}
		// With no entry only people with the claim are admitted, and an operator should see that at the first start.
		log.Info("sign-ins are accepted", "project", c.FirebaseProject, "signInAllow", c.Allow.Len())
	}
	return a, w.handler(c, a, known, log, background, room), nil
}

// sender returns the sender of push messages: one that writes to the log, followed by Firebase Cloud Messaging if the
// embedded store's server is configured for it. With Firestore the Cloud Functions send them.
func sender(ctx context.Context, c *config.Config, log *slog.Logger) (push.Sender, error) {
	out := push.Log{To: log}
	if c.Store == "sqlite" && (c.FCMProject != "" || c.FCMEndpoint != "") {
		service, err := cloud.Messaging(ctx, cmp.Or(c.FCMProject, "demo-parley"), c.FCMEndpoint, log)
		if err != nil {
			return nil, err
		}
		out.Then = service
	}
	return out, nil
}

// handler returns the handler of both transports and the pages.
func (w *world) handler(c *config.Config, a *app.App, known auth.Keys, log *slog.Logger,
	background *sync.WaitGroup, room int64) http.Handler {
	authenticator := auth.New(known, time.Now, auth.Limits{Rate: c.Rate, Burst: c.Burst, UserRate: c.UserRate,
		UserBurst: c.UserBurst, Proxies: c.TrustProxy})
	authenticator.Log = log
	a.Keys.Revoked = authenticator.Forget
	a.Keys.Pairings = func(p keys.PairingChange) {
		log.Info("pairing", "change", p.Change, "user", p.User, "keyId", p.KeyID, "from", p.From, "client", p.Client,
			"program", p.Program, "machine", p.Machine, "directory", p.Directory, "address", p.Address)
	}
	a.Keys.Used = func(caller identity.Caller) {
		background.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
			defer cancel()
			if err := a.Keys.Touch(ctx, caller); err != nil {
				log.Warn("cannot record the use of a key", "cause", err.Error())
			}
		})
	}
	s := &rest.Server{Catalogue: a.Catalogue(), Auth: authenticator, Now: time.Now, Version: version(),
		Origins: c.Origins, Loopback: c.Loopback(), Bodies: bodies.New(room / 4),
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
	endpoint := &mcp.Endpoint{Catalogue: a.Catalogue(), Version: version(),
		Log: slog.New(slog.DiscardHandler)}
	site := page.Site{Firebase: signIn(c), Limit: authenticator.Anonymous,
		Redeem: func(r *http.Request, code, present string) (out page.SignIn, err error) {
			err = authenticator.Guard(r, func() error {
				made, err := a.Keys.RedeemOn(r.Context(), code, present)
				out = page.SignIn{Key: made.Key, ExpiresAt: made.ExpiresAt, Assurance: made.Assurance}
				return err
			})
			return out, err
		}}
	if at, err := passkeys.At(c.PublicURL); err == nil {
		site.Passkeys = at.Origin
	}
	return s.Echo(func(e *echo.Echo) {
		site.Mount(e)
		byPasskey(a.Passkeys, authenticator).Mount(e)
		(&answers.Site{Take: func(r *http.Request, in push.Answer) error {
			return authenticator.Guard(r, func() error { return a.Signal.AnswerByToken(r.Context(), in) })
		}}).Mount(e)
		for _, path := range []string{"/mcp", "/v1/mcp"} {
			endpoint.Mount(e, path, authenticator)
		}
		if benchRoutes != nil {
			benchRoutes(e)
		}
	})
}

// byPasskey returns the routes of sign-ins with a passkey.
func byPasskey(p *passkeys.Service, authenticator *auth.Authenticator) *signin.Site {
	return &signin.Site{
		Begin: func(r *http.Request) (out passkeys.ProveOutput, err error) {
			if err := authenticator.Attempt(r); err != nil {
				return out, err
			}
			return p.BeginSignIn(r.Context())
		},
		Finish: func(r *http.Request, in passkeys.Assertion) (out passkeys.SignIn, err error) {
			err = authenticator.Guard(r, func() (err error) {
				out, err = p.FinishSignIn(r.Context(), in)
				return err
			})
			return out, err
		},
	}
}

// signIn returns the page's settings for Firebase sign-ins.
func signIn(c *config.Config) page.Firebase {
	f := page.Firebase{APIKey: c.FirebaseAPIKey}
	if c.AuthEmulatorHost != "" {
		f.APIKey = cmp.Or(f.APIKey, "emulator")
		f.AuthURL = "http://" + c.AuthEmulatorHost + "/identitytoolkit.googleapis.com"
		f.TokenURL = "http://" + c.AuthEmulatorHost + "/securetoken.googleapis.com"
	}
	return f
}

// url returns the URL of the server for a client on this machine.
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
