package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/sleep"
)

// DefaultTimeout is how long a server may take to answer, beyond the wait that the request asks for.
const DefaultTimeout = 30 * time.Second

// Client calls one server with one key. It is safe for concurrent use. Make one with [New].
type Client struct {
	base, key string
	session   string
	http      *http.Client
	agent     string
	timeout   time.Duration
	retry     Retry
	newID     func() string // of calls, for the server's log
	newKey    func() string // of idempotency
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error
	jitter    func() float64 // in [0, 1)
	observe   func(context.Context, Attempt)
}

// Option changes a client.
type Option func(*Client)

// WithKey sets the key, for a further client of the same server.
func WithKey(key string) Option { return func(c *Client) { c.key = key } }

// WithSession sets the session that the calls belong to, by its id or address.
func WithSession(session string) Option { return func(c *Client) { c.session = session } }

// WithHTTPClient sets the HTTP client to call with. Its Timeout, where it has one, also bounds waits. A client
// without CheckRedirect follows no redirect: Parley sends none, and a key must not follow one.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithTimeout sets how long a server may take to answer one request, beyond the wait that the request asks for;
// [DefaultTimeout] where it is not given.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithRetry sets how often and after which pauses a request is repeated; see [Retry] for the defaults.
func WithRetry(r Retry) Option { return func(c *Client) { c.retry = r } }

// WithUserAgent sets the User-Agent header.
func WithUserAgent(text string) Option { return func(c *Client) { c.agent = text } }

// WithRequestID sets the source of request ids, one for each call: letters, digits, dots, hyphens and
// underscores, at most 60 characters. The first attempt of a call carries the id as its X-Request-Id, the second
// "<id>.2" and so on.
func WithRequestID(newID func() string) Option { return func(c *Client) { c.newID = newID } }

// WithClock sets the clock, and the sleep between attempts. The sleep returns the context's error where the
// context ends first.
func WithClock(now func() time.Time, sleep func(context.Context, time.Duration) error) Option {
	return func(c *Client) { c.now, c.sleep = now, sleep }
}

// WithObserver sets a function that is told of every attempt before the call goes on. It must be safe for
// concurrent use where the client is used so.
func WithObserver(observe func(context.Context, Attempt)) Option {
	return func(c *Client) { c.observe = observe }
}

// New returns a client for the server at a URL, in any of the forms that [BaseURL] takes. An empty key sends no
// Authorization header.
func New(url, key string, options ...Option) (*Client, error) {
	base, err := BaseURL(url)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:    base,
		key:     key,
		http:    http.DefaultClient,
		agent:   "parley-go",
		timeout: DefaultTimeout,
		newID:   rand.Text,
		newKey:  rand.Text,
		now:     time.Now,
		sleep:   sleep.For,
		jitter:  jitter,
		observe: func(context.Context, Attempt) {},
	}
	return c.With(options...), nil
}

// With returns a copy of the client with further options.
func (c *Client) With(options ...Option) *Client {
	out := *c
	for _, o := range options {
		o(&out)
	}
	if out.http.CheckRedirect == nil {
		h := *out.http
		h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		out.http = &h
	}
	return &out
}

// Base returns the server's URL without a trailing slash, to which a route's path is appended.
func (c *Client) Base() string { return c.base }

// BaseURL returns the URL to which a route's path is appended, without a trailing slash. It takes that URL itself,
// that of the MCP endpoint (…/mcp) and that of REST (…/v1). Anything but an http or https URL with a host and
// without credentials is Invalid.
func BaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", fault.New(fault.Invalid, "the server's URL must be http://host:port or https://host")
	}
	path := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	if i := slices.Index(path, "mcp"); i >= 0 {
		path = path[:i]
	}
	if n := len(path); n > 0 && path[n-1] == "v1" {
		path = path[:n-1]
	}
	base := u.Scheme + "://" + u.Host
	if len(path) > 0 && path[0] != "" {
		base += "/" + strings.Join(path, "/")
	}
	return base, nil
}
