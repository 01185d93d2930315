package hubtest

import (
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

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/page"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Version is what a hub here says that it is.
const Version = "0.0.0-test"

// Hub is a hub that runs, wired as the serve command wires it.
type Hub struct {
	URL       string
	App       *app.App
	Auth      *auth.Authenticator
	Catalogue *op.Catalogue

	t       testing.TB
	client  *http.Client
	handler http.Handler
	off     sync.WaitGroup
}

// Options change how a hub is wired. The zero value is a laptop's.
type Options struct {
	Now    func() time.Time
	NewID  func() string
	Limits auth.Limits
	// Public says that others can reach the server, so that no name is this machine's.
	Public  bool
	Origins []string
	// Catalogue serves other operations than the app's.
	Catalogue func(*app.App) *op.Catalogue
	// Keys stands between the authenticator and the keys.
	Keys func(auth.Keys) auth.Keys
	// Firebase is how people sign in to the page beside links.
	Firebase page.Firebase
	Log      *slog.Logger
}

// New runs a hub over a store until the test ends.
func New(t testing.TB, db *store.DB, o Options) *Hub {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	h := &Hub{t: t, App: app.New(db, app.Ports{Now: o.Now, NewID: o.NewID})}
	h.Catalogue = h.App.Catalogue()
	if o.Catalogue != nil {
		h.Catalogue = o.Catalogue(h.App)
	}
	h.Catalogue.Log, h.Catalogue.Now = o.Log, o.Now
	var lookup auth.Keys = h.App.Keys
	if o.Keys != nil {
		lookup = o.Keys(lookup)
	}
	h.Auth = auth.New(lookup, o.Now, o.Limits)
	h.Auth.Log = o.Log
	h.App.Keys.Revoked = h.Auth.Forget
	h.App.Keys.Used = func(c identity.Caller) {
		h.off.Go(func() {
			if err := h.App.Keys.Touch(context.Background(), c); err != nil {
				t.Errorf("a key's use was not noted: %v", err)
			}
		})
	}
	s := &rest.Server{Catalogue: h.Catalogue, Auth: h.Auth, Now: o.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Version: Version, Origins: o.Origins, Loopback: !o.Public}
	endpoint := &mcp.Endpoint{Catalogue: h.Catalogue, Version: Version, Log: slog.New(slog.DiscardHandler)}
	handler, err := s.Echo(func(e *echo.Echo) {
		for _, path := range []string{"/mcp", "/v1/mcp"} {
			endpoint.Mount(e, path, h.Auth)
		}
		page.Site{Redeem: h.redeem, Firebase: o.Firebase, Now: o.Now}.Mount(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	h.handler = handler
	server := httptest.NewServer(handler) // on 127.0.0.1, on a free port
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	h.URL, h.client = server.URL, &http.Client{Transport: transport, Timeout: time.Minute}
	t.Cleanup(func() {
		db.Drain()
		transport.CloseIdleConnections()
		server.Close()
		h.off.Wait()
	})
	return h
}

func (h *Hub) redeem(r *http.Request, code string) (string, time.Time, error) {
	out, err := h.App.Keys.Redeem(r.Context(), code)
	return out.Key, out.ExpiresAt, err
}

// Addr is the host:port of the hub.
func (h *Hub) Addr() string { return strings.TrimPrefix(h.URL, "http://") }

// Settle waits for what the hub does off the path of its calls, and has them counted.
func (h *Hub) Settle() {
	h.t.Helper()
	h.off.Wait()
	if err := h.App.Ledger.Flush(h.t.Context()); err != nil {
		h.t.Errorf("calls were not counted: %v", err)
	}
}

// Key makes a key for a user.
func (h *Hub) Key(user string, in keys.CreateInput) string {
	h.t.Helper()
	return h.NewKey(user, in).Key
}

// NewKey makes a key for a user, with all that is told of it.
func (h *Hub) NewKey(user string, in keys.CreateInput) keys.CreateOutput {
	h.t.Helper()
	out, err := h.App.Keys.Issue(h.t.Context(), user, in)
	if err != nil {
		h.t.Fatalf("a key for %s: %v", user, err)
	}
	return out
}

// Agent is a key of the user's that speaks for a program.
func (h *Hub) Agent(user, program string) string {
	h.t.Helper()
	return h.Key(user, keys.CreateInput{Program: program})
}

// Client returns a typed client with a key, which may be empty.
func (h *Hub) Client(key string, options ...client.Option) *client.Client {
	h.t.Helper()
	c, err := client.New(h.URL, key, append([]client.Option{client.WithHTTPClient(h.client)}, options...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// Human is a key of the user's own.
func (h *Hub) Human(user string) string {
	h.t.Helper()
	return h.Key(user, keys.CreateInput{Kind: identity.Human})
}

// Clock is a clock that a test moves. It starts at a whole minute of 2026.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock is a clock that stands still.
func NewClock() *Clock { return &Clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now is the time on the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
