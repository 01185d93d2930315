package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/bodies"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/static"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// maxOpenBody is the size of the largest body of a call that needs no key, in bytes. It is below [bodies.Small]: a
// stranger takes none of the memory for large bodies.
const maxOpenBody = 32 << 10

var errOpenBody = echo.NewHTTPError(http.StatusRequestEntityTooLarge)

// MaxBody is the size of the largest body of a request, in bytes.
const MaxBody = 1 << 20

// Server serves the operations of a catalogue over REST. Its functions must be safe for concurrent use.
type Server struct {
	Catalogue *op.Catalogue
	Auth      *auth.Authenticator
	Now       func() time.Time
	NewID     func() string // makes request IDs
	Version   string
	// Origins are the origins whose web pages may call, such as "https://app.example.org".
	Origins []string
	// Loopback also allows pages of loopback origins, and refuses requests whose host is neither a loopback name nor
	// that of an allowed origin.
	Loopback bool
	// Bodies is the memory for large bodies; nil for no bound.
	Bodies *bodies.Room
}

// reads are the methods of a document: monitors ask by HEAD whether it is there.
var reads = []string{http.MethodGet, http.MethodHead}

// Echo returns a router with the routes of all operations, GET /v1/health and GET /openapi.json. mount, which may be
// nil, adds further endpoints behind the same middleware.
func (s *Server) Echo(mount func(*echo.Echo)) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.onError
	limit := middleware.BodyLimitWithConfig(middleware.BodyLimitConfig{Limit: fmt.Sprint(MaxBody)})
	e.Use(s.requestID, s.recovered, s.origin, limit, s.bounded)
	e.Match(reads, "/v1/health", func(c echo.Context) error {
		data, err := json.Marshal(map[string]string{"status": "ok", "version": s.Version})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, success{true, data, s.meta(c)})
	})
	// It is generated when it is first asked for, and not at each start.
	document := sync.OnceValues(func() (http.Handler, error) {
		doc, err := s.Catalogue.OpenAPI("Parley", s.Version)
		if err != nil {
			return nil, err
		}
		return static.New(echo.MIMEApplicationJSON, doc), nil
	})
	e.Match(reads, "/openapi.json", func(c echo.Context) error {
		if err := s.Auth.Anonymous(c.Request()); err != nil {
			return err
		}
		d, err := document()
		if err != nil {
			return err
		}
		d.ServeHTTP(c.Response(), c.Request())
		return nil
	})
	for _, o := range s.Catalogue.Ops() {
		for _, r := range o.Routes() {
			e.Add(op.Method(r.Route), echoPath(r.Route), s.handler(o, r))
		}
	}
	if mount != nil {
		mount(e)
	}
	return e
}

var param = regexp.MustCompile(`\{(\w+)\}`)

// echoPath returns the path of a route in Echo's syntax.
func echoPath(route string) string { return param.ReplaceAllString(op.Path(route), ":$1") }

func (s *Server) handler(o *op.Op, route op.Compat) echo.HandlerFunc {
	who, call := s.Auth.Caller, s.call
	if o.Open {
		who, call = s.Auth.Stranger, s.callOpen
	}
	return func(c echo.Context) error {
		caller, err := who(c.Request())
		if err != nil {
			return err
		}
		if o.Open {
			if err := small(c); err != nil {
				return err
			}
		}
		in, err := fold(c, o, route)
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			err = errOpenBody
		}
		if err != nil {
			return err
		}
		c.Set(callerKey, caller)
		res, err := call(c, o, caller, in)
		if err != nil {
			return err
		}
		meta := s.meta(c)
		if op.Method(route.Route) != http.MethodGet {
			meta.Coerced = res.Coerced // every value of a query is text, so conversions there are not reported
		}
		status := http.StatusOK
		if o.Creates {
			status = http.StatusCreated
		}
		return s.answer(c, status, success{true, res.Data, meta}, res)
	}
}

// small bounds the body of a request without a key.
func small(c echo.Context) error {
	r := c.Request()
	if r.ContentLength > maxOpenBody {
		return errOpenBody
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxOpenBody)
	return nil
}

// call calls an operation as the holder of the request's key.
func (s *Server) call(c echo.Context, o *op.Op, caller identity.Caller, in op.Input) (op.Result, error) {
	return s.Catalogue.Call(c.Request().Context(), o,
		op.Call{Caller: caller, Input: in, Transport: "rest", RequestID: s.meta(c).RequestID,
			Valid: func() error { return s.Auth.Recheck(c.Request()) }})
}

// callOpen calls an operation that needs no key. A wrong secret in the input counts as a bad key does.
func (s *Server) callOpen(c echo.Context, o *op.Op, caller identity.Caller, in op.Input) (res op.Result, err error) {
	err = s.Auth.Guard(c.Request(), func() (err error) {
		res, err = s.Catalogue.Call(c.Request().Context(), o,
			op.Call{Caller: caller, Input: in, Transport: "rest", RequestID: s.meta(c).RequestID})
		return err
	})
	return res, err
}

// answer writes the response of a call, and undoes the effects of a consuming call if the response does not reach the
// caller.
func (s *Server) answer(c echo.Context, status int, body success, res op.Result) error {
	err := writeJSON(c, status, body)
	if !res.Consumed() || err == nil && Delivered(c) {
		return err
	}
	return errors.Join(err, res.Undelivered(c.Request().Context()))
}

// fold makes the operation's input from the path, the query, the body and the header Idempotency-Key. A field that is
// given in two places must have the same value in both.
func fold(c echo.Context, o *op.Op, route op.Compat) (op.Input, error) {
	body, err := Body(c.Request())
	if err != nil {
		return op.Input{}, err
	}
	out := op.Parse(body)
	in, err := out.Fields(o)
	if err != nil || string(bytes.TrimSpace(body)) == "null" {
		return op.Input{}, bodyFault(err)
	}
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return op.Input{}, fault.New(fault.Invalid, "the query must be URL-encoded: %v", err)
	}
	for name, values := range query {
		if o.Open {
			return op.Input{}, fault.Field(name, "must be in the body: logs and histories keep addresses, and this may be a secret")
		}
		if len(values) > 1 {
			err = put(in, name, anyOf(values))
		} else {
			err = put(in, name, values[0])
		}
		if err != nil {
			return op.Input{}, err
		}
	}
	for _, name := range op.PathParams(route.Route) {
		value := c.Param(name)
		if c.Request().URL.RawPath != "" { // the router matched the escaped path
			if value, err = url.PathUnescape(value); err != nil {
				return op.Input{}, fault.Field(name, "must be percent-encoded: %v", err)
			}
		}
		if err := put(in, name, value); err != nil {
			return op.Input{}, err
		}
	}
	for name, v := range route.Set {
		if err := put(in, name, v); err != nil {
			return op.Input{}, err
		}
	}
	if len(route.Peek) > 0 && prefers(c.Request(), "peek") {
		for name, v := range route.Peek {
			if err := put(in, name, v); err != nil {
				return op.Input{}, err
			}
		}
	}
	if key := c.Request().Header.Get("Idempotency-Key"); key != "" && o.Idempotent {
		if err := put(in, "idempotencyKey", key); err != nil {
			return op.Input{}, err
		}
	}
	return out, nil
}

// prefers reports whether a request has a preference (RFC 7240), whatever its parameters.
func prefers(r *http.Request, name string) bool {
	for _, line := range r.Header.Values("Prefer") {
		for token := range strings.SplitSeq(line, ",") {
			token, _, _ = strings.Cut(token, ";")
			token, _, _ = strings.Cut(token, "=")
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

// bodyFault returns the fault of a body that cannot be an input. One that names a field is as it was.
func bodyFault(err error) error {
	if f := fault.From(err); f != nil && (f.Kind != fault.Invalid || len(f.Problems) > 0) {
		return err
	}
	return fault.New(fault.Invalid, "the body must be a JSON object")
}

// put adds a field to an input. A field that the input already has must have the same value.
func put(in map[string]any, name string, v any) error {
	for _, text := range append(texts(v), name) {
		if strings.ToValidUTF8(text, "") != text {
			return fault.Field(strings.ToValidUTF8(name, "�"), "must be valid UTF-8 text")
		}
	}
	if given, dup := in[name]; dup && !reflect.DeepEqual(asText(given), asText(v)) {
		return fault.Field(name, "is given twice, with different values")
	}
	in[name] = v
	return nil
}

// asText returns a value as a query would give it, so that 5 equals "5".
func asText(v any) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = asText(e)
		}
		return out
	case nil:
		return "null"
	case json.Number, bool:
		return fmt.Sprint(x)
	}
	return v
}

func anyOf(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// texts returns the strings in a value of a query or a path.
func texts(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, e := range x {
			out = append(out, texts(e)...)
		}
		return out
	}
	return nil
}

var safeID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID sets the header X-Request-Id of the response: that of the request if it is safe to log, or a new ID.
func (s *Server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if !safeID.MatchString(id) {
			id = s.NewID()
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// recovered makes a panic of a handler a fault of kind Internal.
func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				if e, ok := p.(error); ok && errors.Is(e, http.ErrAbortHandler) {
					panic(p)
				}
				err = fault.Wrap(fault.Internal, fmt.Errorf("panic: %v", p), "internal error")
			}
		}()
		return next(c)
	}
}

// bounded counts the body of a request against the memory for large ones.
func (s *Server) bounded(next echo.HandlerFunc) echo.HandlerFunc {
	if s.Bodies == nil {
		return next
	}
	return func(c echo.Context) error {
		r := c.Request()
		if r.Body == nil || r.Body == http.NoBody {
			return next(c)
		}
		key := sha256.Sum256([]byte(r.Header.Get(echo.HeaderAuthorization)))
		b := s.Bodies.Body(r.Body, r.ContentLength, string(key[:]))
		defer func() { _ = b.Close() }()
		r.Body = b
		return next(c)
	}
}

// origin refuses requests from web pages of origins that are not allowed, so that a page in a browser cannot use a
// server on the same machine. With Loopback it also refuses other host names, which prevents DNS rebinding.
func (s *Server) origin(next echo.HandlerFunc) echo.HandlerFunc {
	allowed := maps.Collect(func(yield func(string, bool) bool) {
		for _, o := range s.Origins {
			if !yield(strings.ToLower(o), true) {
				return
			}
		}
	})
	return func(c echo.Context) error {
		r := c.Request()
		if o, given := r.Header[echo.HeaderOrigin]; given && !ofPage(r) {
			u, err := url.Parse(strings.Join(o, ","))
			local := err == nil && s.Loopback && config.IsLoopback(u.Hostname())
			if !local && !allowed[strings.ToLower(strings.Join(o, ","))] {
				return fault.New(fault.Forbidden,
					"the Origin must be one that the operator allows with --allow-origin")
			}
		}
		if s.Loopback {
			host := (&url.URL{Host: r.Host}).Hostname()
			if !config.IsLoopback(host) && !s.hostAllowed(r.Host) {
				return fault.New(fault.Forbidden,
					"the Host must be a loopback name, or one that the operator allows with --allow-origin")
			}
		}
		return next(c)
	}
}

// ofPage reports whether a request reads a file of the page, which is the same for everybody. Browsers name the origin
// when they load a module, also that of the server itself, which a public server may not know.
func ofPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasPrefix(r.URL.Path, "/assets/")
}

// hostAllowed reports whether host, with its port, is that of an allowed origin.
func (s *Server) hostAllowed(host string) bool {
	return slices.ContainsFunc(s.Origins, func(o string) bool {
		u, err := url.Parse(o)
		return err == nil && strings.EqualFold(u.Host, host)
	})
}
