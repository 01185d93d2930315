package rest

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Meta is the part of the envelope that successes and faults share.
type Meta struct {
	Timestamp time.Time `json:"timestamp"`
	RequestID string    `json:"requestId"`
	// Coerced has a sentence for each field of the input that was converted to the type of its schema.
	Coerced []string `json:"coerced,omitempty"`
}

// Error is a fault as clients read it.
type Error struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details []fault.Problem `json:"details"` // by field; never null
}

type success struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Meta    Meta            `json:"meta"`
}

type failure struct {
	Success bool  `json:"success"`
	Error   Error `json:"error"`
	Meta    Meta  `json:"meta"`
}

// ErrorOf returns the public form of an error, which [fault.From] makes a fault. It never shows the cause, nor the
// details of kind Internal.
func ErrorOf(err error) Error {
	f := fault.From(err)
	e := Error{Code: f.Kind.Code(), Message: f.Public(), Details: f.Problems}
	if e.Details == nil || f.Kind == fault.Internal {
		e.Details = []fault.Problem{}
	}
	return e
}

// RetryAfter returns the value of the header Retry-After for a fault, in whole seconds, at least 1. It is empty if the
// fault gives no time, except that it is "1" for kind Exhausted.
func RetryAfter(err error) string {
	d := fault.From(err).RetryAfter
	if d <= 0 {
		if fault.Is(err, fault.Exhausted) {
			d = time.Second
		} else {
			return ""
		}
	}
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

func (s *Server) meta(c echo.Context) Meta {
	return Meta{Timestamp: s.Now().UTC(), RequestID: c.Response().Header().Get(echo.HeaderXRequestID)}
}

// callerKey is the key of the verified caller in the context of a request.
const callerKey = "caller"

// Fail writes a fault as the response, with its status, its envelope, and the headers WWW-Authenticate and Retry-After
// if the fault calls for them. It records a refusal. The error that it returns is that of writing.
func (s *Server) Fail(c echo.Context, err error) error {
	f := fault.From(err)
	caller, _ := c.Get(callerKey).(identity.Caller)
	s.Auth.Refused(c.Request(), s.meta(c).RequestID, caller, err)
	h := c.Response().Header()
	if f.Kind == fault.Unauthenticated {
		h.Set(echo.HeaderWWWAuthenticate, auth.Challenge(err))
	}
	if after := RetryAfter(err); after != "" {
		h.Set(echo.HeaderRetryAfter, after)
	}
	if r := c.Request(); f.Kind == fault.Exhausted && r.ProtoMajor == 1 && r.ContentLength > auth.Portion {
		h.Set(echo.HeaderConnection, "close") // else net/http reads up to 256 KiB of the body before it answers
	}
	return c.JSON(f.Kind.HTTP(), failure{Error: ErrorOf(err), Meta: s.meta(c)})
}

// onError writes the response for a fault that a handler returned, and for a request that Echo refused.
func (s *Server) onError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	var he *echo.HTTPError
	if !errors.As(err, &he) {
		_ = s.Fail(c, err)
		return
	}
	e := Error{Details: []fault.Problem{}}
	switch he.Code {
	case http.StatusNotFound:
		e.Code, e.Message = fault.NotFound.Code(),
			"there is no such route: MCP is served at /mcp, and REST below /v1, whose routes /openapi.json lists"
	case http.StatusMethodNotAllowed:
		e.Code, e.Message = "METHOD_NOT_ALLOWED", "the route does not take this method; /openapi.json lists them"
		switch path := c.Request().URL.Path; {
		case path == "/": // where an MCP client was given the URL of the server alone
			e.Message = "MCP is served at /mcp: add it to the URL; REST is served below /v1"
		case path == "/mcp" || strings.HasPrefix(path, "/mcp/"): // which a person opens in a browser
			e.Message = "this is the endpoint of MCP, which clients call by POST with a key; the console is at /"
		}
	case http.StatusRequestEntityTooLarge:
		e.Code, e.Message = "PAYLOAD_TOO_LARGE", "the body must be at most 1 MiB"
		if errors.Is(err, errOpenBody) {
			e.Message = "the body of a call that needs no key must be at most 32 KiB"
		}
	default:
		e.Code, e.Message = fault.Internal.Code(), "internal error"
		if he.Code < http.StatusInternalServerError {
			e.Code, e.Message = fault.Invalid.Code(), http.StatusText(he.Code)
		}
	}
	_ = c.JSON(he.Code, failure{Error: e, Meta: s.meta(c)})
}
