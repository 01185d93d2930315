package hubtest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/answers"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/bodies"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/page"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/services/hub/internal/signin"
	"parley.internal/shared/app"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/push"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
)

// Version is the version that the hub reports.
const Version = "0.0.0-test"

// Hub is a running hub, wired like that of the serve command. Its methods fail the test in place of returning an
// error, so they must be called from the goroutine of the test, unless they return an error.
type Hub struct {
	URL       string // without a path
	App       *app.App
	Auth      *auth.Authenticator
	Catalogue *op.Catalogue

	t          testing.TB
	client     *http.Client
	background sync.WaitGroup // records of the uses of keys
}

// Options configure a hub. The zero value is a server on a laptop without limits.
type Options struct {
	Now    func() time.Time // nil: time.Now
	NewID  func() string    // nil: UUIDs of version 7
	Limits auth.Limits
	Waits  *op.Waits    // nil: no limit
	Quota  store.Usage  // of a user; a zero field is no limit
	Bodies *bodies.Room // nil: no limit
	// Public says that other machines can reach the server, so that it trusts neither loopback hosts nor origins.
	Public  bool
	Origins []string // whose pages may call
	// Catalogue, if not nil, returns the operations to serve in place of the app's.
	Catalogue func(*app.App) *op.Catalogue
	// Keys, if not nil, wraps the keys for the authenticator.
	Keys func(auth.Keys) auth.Keys
	// Firebase configures the sign-in by password. The zero value allows sign-in by links alone.
	Firebase page.Firebase
	// Direct sends pushes to devices at addresses of their own, and PublicURL is where they lead; see [app.Ports].
	Direct    signal.Direct
	PublicURL string
	Log       *slog.Logger // of calls; nil for none
}

// New runs a hub on a store until the test ends. The store is drained, but not closed.
func New(t testing.TB, db *store.DB, o Options) *Hub {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	server := httptest.NewUnstartedServer(nil) // on 127.0.0.1, on a free port
	server.Config.ConnContext = rest.WithConn
	h := &Hub{t: t, URL: "http://" + server.Listener.Addr().String(),
		App: app.New(db, app.Ports{Now: o.Now, NewID: o.NewID, Quota: o.Quota, Direct: o.Direct, PublicURL: o.PublicURL})}
	h.App.Passkeys.Address = cmp.Or(o.PublicURL, h.URL)
	h.Catalogue = h.App.Catalogue()
	if o.Catalogue != nil {
		h.Catalogue = o.Catalogue(h.App)
	}
	h.Catalogue.Log, h.Catalogue.Now, h.Catalogue.Waits = o.Log, o.Now, o.Waits
	var lookup auth.Keys = h.App.Keys
	if o.Keys != nil {
		lookup = o.Keys(lookup)
	}
	h.Auth = auth.New(lookup, o.Now, o.Limits)
	h.Auth.Log = o.Log
	h.App.Keys.Revoked = h.Auth.Forget
	h.App.Keys.Used = func(c identity.Caller) {
		h.background.Go(func() {
			if err := h.App.Keys.Touch(context.Background(), c); err != nil {
				t.Errorf("record the use of a key: %v", err)
			}
		})
	}
	s := &rest.Server{Catalogue: h.Catalogue, Auth: h.Auth, Now: o.Now, NewID: newID,
		Version: Version, Origins: o.Origins, Loopback: !o.Public, Bodies: o.Bodies}
	endpoint := &mcp.Endpoint{Catalogue: h.Catalogue, Version: Version, Log: slog.New(slog.DiscardHandler)}
	handler := s.Echo(func(e *echo.Echo) {
		for _, path := range []string{"/mcp", "/v1/mcp"} {
			endpoint.Mount(e, path, h.Auth)
		}
		site := page.Site{Redeem: h.redeem, Firebase: o.Firebase, Limit: h.Auth.Anonymous, Now: o.Now}
		if at, err := passkeys.At(h.App.Passkeys.Address); err == nil {
			site.Passkeys = at.Origin
		}
		site.Mount(e)
		h.byPasskey(o.Now).Mount(e)
		(&answers.Site{Now: o.Now, Take: func(r *http.Request, in push.Answer) error {
			return h.Auth.Guard(r, func() error { return h.App.Signal.AnswerByToken(r.Context(), in) })
		}}).Mount(e)
	})
	server.Config.Handler = handler
	server.Start()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	h.client = &http.Client{Transport: transport, Timeout: time.Minute}
	t.Cleanup(func() {
		db.Drain()
		transport.CloseIdleConnections()
		server.Close()
		h.background.Wait()
	})
	return h
}

// byPasskey returns the routes of sign-ins with a passkey.
func (h *Hub) byPasskey(now func() time.Time) *signin.Site {
	return &signin.Site{Now: now, Begin: func(r *http.Request) (out passkeys.ProveOutput, err error) {
		if err := h.Auth.Attempt(r); err != nil {
			return out, err
		}
		return h.App.Passkeys.BeginSignIn(r.Context())
	}, Finish: func(r *http.Request, in passkeys.Assertion) (out passkeys.SignIn, err error) {
		err = h.Auth.Guard(r, func() (err error) {
			out, err = h.App.Passkeys.FinishSignIn(r.Context(), in)
			return err
		})
		return out, err
	}}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func (h *Hub) redeem(r *http.Request, code, present string) (page.SignIn, error) {
	out, err := h.App.Keys.RedeemOn(r.Context(), code, present)
	return page.SignIn{Key: out.Key, ExpiresAt: out.ExpiresAt, Assurance: out.Assurance}, err
}

// Addr returns the host:port of the hub.
func (h *Hub) Addr() string { return strings.TrimPrefix(h.URL, "http://") }

// Flush waits until the hub has recorded the uses of keys, and writes its counts of calls to the store. It fails the
// test if either cannot be stored.
func (h *Hub) Flush() {
	h.t.Helper()
	h.background.Wait()
	if err := h.App.Ledger.Flush(h.t.Context()); err != nil {
		h.t.Errorf("store the counts of calls: %v", err)
	}
}

// Key makes a key for a user and returns its secret.
func (h *Hub) Key(user string, in keys.CreateInput) string {
	h.t.Helper()
	return h.NewKey(user, in).Key
}

// NewKey makes a key for a user and returns it with its ID and its properties.
func (h *Hub) NewKey(user string, in keys.CreateInput) keys.CreateOutput {
	h.t.Helper()
	out, err := h.App.Keys.Issue(h.t.Context(), user, in)
	if err != nil {
		h.t.Fatalf("a key for %s: %v", user, err)
	}
	return out
}

// Agent makes a key of a user that is bound to a program, and returns its secret.
func (h *Hub) Agent(user, program string) string {
	h.t.Helper()
	return h.Key(user, keys.CreateInput{Program: program})
}

// Client returns a typed client of the hub. The key may be empty.
func (h *Hub) Client(key string, options ...client.Option) *client.Client {
	h.t.Helper()
	c, err := client.New(h.URL, key, append([]client.Option{client.WithHTTPClient(h.client)}, options...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// Device pairs the first device of a user, as the browser does that opens a link for the console, and returns the secret
// of its key.
func (h *Hub) Device(user string) string {
	h.t.Helper()
	link, err := h.App.Keys.MakeLink(h.t.Context(), user, true)
	Must(h.t, err)
	made, err := h.App.Keys.Redeem(h.t.Context(), link.Code)
	Must(h.t, err)
	if made.Assurance != identity.Device {
		h.t.Fatalf("%s has a paired device already", user)
	}
	return made.Key
}

// Human makes a key of the user's own, which may answer questions, and returns its secret.
func (h *Hub) Human(user string) string {
	h.t.Helper()
	return h.Key(user, keys.CreateInput{Kind: identity.Human})
}
