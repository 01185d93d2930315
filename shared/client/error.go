package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// Error is a call that failed. It wraps its fault, so that [fault.Is] and [errors.As] find the kind, the problems of
// the input and the time after which to try again. Its text never holds the key.
type Error struct {
	// Operation is the name of the operation.
	Operation string
	// Status is the HTTP status of the last answer, 0 where none came.
	Status int
	// Code is the fault's name on the wire. It is empty where no answer came, and where the answer was not one of
	// Parley's.
	Code string
	// RequestID is that of the last attempt, under which the server's log has it.
	RequestID string
	// Uncertain says that a write may have been done, although the call failed.
	Uncertain bool
	// Body is the beginning of an answer that is not one of Parley's, at most 512 bytes.
	Body []byte
	// Fault has the kind, the message, the problems and the time to wait; its cause is that of a lost connection, or the
	// error of the caller's context where that ended the call. Unavailable stands for no answer.
	Fault *fault.Error

	unsent bool
}

func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

const (
	// maxAnswer bounds an answer of the server, in bytes.
	maxAnswer = 16 << 20
	// maxBody is as much of an answer as an error keeps.
	maxBody = 512
)

type envelope struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details []fault.Problem `json:"details"`
	} `json:"error"`
	Meta struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"meta"`
}

// read reads the answer to its end, and opens the envelope.
func (c *Client) read(m *message, res *http.Response) (envelope, *Error) {
	var e envelope
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return e, c.lost(m, err, false)
	}
	out := &Error{Operation: m.operation.Name, Status: res.StatusCode}
	after := retryAfter(res.Header.Get("Retry-After"), c.now())
	good := res.StatusCode >= 200 && res.StatusCode < 300
	if len(text) > maxAnswer || json.Unmarshal(text, &e) != nil || e.Success == (e.Error.Code != "") ||
		e.Success != good {
		kind := kindOf(res.StatusCode)
		out.Fault = fault.New(kind, "the answer of %s with status %d is no Parley server's", c.base, res.StatusCode).
			After(after)
		out.Body = text[:min(len(text), maxBody)]
		out.Uncertain = m.operation.Effect != op.Read && (good || res.StatusCode >= http.StatusInternalServerError)
		return e, out
	}
	if e.Success {
		return e, nil
	}
	kind, known := fault.ParseCode(e.Error.Code)
	if !known {
		kind = kindOf(res.StatusCode)
	}
	out.Code = e.Error.Code
	out.Fault = &fault.Error{Kind: kind, Message: e.Error.Message, Problems: e.Error.Details, RetryAfter: after}
	// A server that answers UNAVAILABLE has done nothing.
	out.Uncertain = m.operation.Effect != op.Read && res.StatusCode >= http.StatusInternalServerError &&
		e.Error.Code != fault.Unavailable.Code()
	return e, out
}

// decode reads the data of an answer into out, which may be nil.
func (c *Client) decode(m *message, status int, data json.RawMessage, out any) *Error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &Error{Operation: m.operation.Name, Status: status, Uncertain: m.operation.Effect != op.Read,
			Fault: fault.Wrap(
				fault.Internal,
				err,
				"the answer of %s cannot be read; is it of the same version?",
				c.base,
			)}
	}
	return nil
}

// lost is the error of a request without an answer.
func (c *Client) lost(m *message, err error, unsent bool) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its URL may hold secrets
	}
	said := "no server answers at " + c.base
	if errors.Is(err, http.ErrSchemeMismatch) { // nothing was sent: there was no handshake
		unsent, said = true, "the server at "+c.base+" speaks HTTP: write http:// in place of https://"
	}
	return &Error{Operation: m.operation.Name, unsent: unsent, Uncertain: m.operation.Effect != op.Read && !unsent,
		Fault: fault.Wrap(fault.Unavailable, err, "%s", said)}
}

// silence is the cause of an attempt that took longer than the client's timeout.
type silence struct{ after time.Duration }

func (s silence) Error() string { return "no answer within " + s.after.String() }

// Is makes it a deadline that was exceeded, of the attempt and not of the caller.
func (silence) Is(target error) bool { return target == context.DeadlineExceeded }

// kindOf is the kind of an answer without a code of Parley's.
func kindOf(status int) fault.Kind {
	switch status {
	case http.StatusUnauthorized:
		return fault.Unauthenticated
	case http.StatusForbidden:
		return fault.Forbidden
	case http.StatusNotFound:
		return fault.NotFound
	case http.StatusTooManyRequests:
		return fault.Exhausted
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fault.Unavailable
	}
	if status >= 400 && status < 500 {
		return fault.Invalid
	}
	return fault.Internal
}

// retryAfter reads a Retry-After header: seconds, or a date. Zero stands for none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
