package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// Attempt is the record of one request of a call for an observer.
type Attempt struct {
	Operation string
	// RequestID is the request's X-Request-Id, and Number its place in the call, from 1.
	RequestID string
	Number    int
	// Began and Ended are by the client's clock.
	Began, Ended time.Time
	// ServerTime is the time in the answer, by the server's clock; zero where there was none.
	ServerTime time.Time
	// Header is the answer's, nil where none came.
	Header http.Header
	// Err is why it failed, nil for a success.
	Err *Error
}

// Do calls the operation with a name. The input is encoded as JSON, as a struct or a map, and its fields go into the
// path, the query or the body as the operation's route has them. The output is decoded into out, which may be nil.
//
// Do returns an [*Error] for all that went wrong on the way to the server and there, and a fault of the kind Invalid
// for a name that the client does not know or an input that cannot be sent.
func (c *Client) Do(ctx context.Context, name string, in, out any) error {
	o, known := operations[name]
	if !known {
		return fault.New(fault.Invalid, "the client knows no operation %q", name)
	}
	return c.do(ctx, o, in, out)
}

// call is Do for the typed methods.
func call[O any](ctx context.Context, c *Client, name string, in any) (O, error) {
	var out O
	err := c.Do(ctx, name, in, &out)
	return out, err
}

// Health is how the server is.
type Health struct {
	Status  string `json:"status"` // "ok"
	Version string `json:"version"`
}

// Health asks the server how it is. It needs no key and sends none.
func (c *Client) Health(ctx context.Context) (Health, error) {
	anonymous := *c
	anonymous.key = ""
	var out Health
	err := anonymous.do(ctx, Operation{Name: "health", Routes: []string{"GET /v1/health"}, Effect: op.Read}, nil, &out)
	return out, err
}

func (c *Client) do(ctx context.Context, o Operation, in, out any) error {
	newKey := c.newKey
	if c.retry.attempts() == 1 {
		newKey = nil // the server would keep a key that nothing repeats
	}
	m, err := o.message(in, newKey)
	if err != nil {
		return err
	}
	call, uncertain := c.newID(), false
	for n, id := 1, call; ; n, id = n+1, fmt.Sprintf("%s.%d", call, n+1) {
		failed, err := c.attempt(ctx, m, id, n, out)
		if err != nil {
			return err
		}
		if failed == nil {
			return nil
		}
		// An earlier attempt may have been done where a later one was refused.
		uncertain = uncertain || failed.Uncertain
		final := *failed // the observer may have kept the attempt's own
		final.Uncertain = uncertain
		if n >= c.retry.attempts() || ctx.Err() != nil || !repeatable(m, failed) {
			return &final
		}
		d, ok := c.retry.pause(n, failed.Fault.RetryAfter, c.jitter())
		if deadline, bounded := ctx.Deadline(); !ok || (bounded && c.now().Add(d).After(deadline)) {
			return &final
		}
		if c.sleep(ctx, d) != nil {
			final.Fault = ended(ctx, m)
			final.Fault.Kind, final.Fault.RetryAfter = failed.Fault.Kind, failed.Fault.RetryAfter
			final.Fault.Message += "; the last attempt failed: " + failed.Fault.Message
			return &final
		}
	}
}

// attempt makes one request. Its error says that no request could be made of the message.
func (c *Client) attempt(ctx context.Context, m *message, id string, n int, out any) (*Error, error) {
	a := Attempt{Operation: m.operation.Name, RequestID: id, Number: n, Began: c.now()}
	patience := c.timeout + m.wait
	limited, cancel := context.WithTimeoutCause(ctx, patience, silence{patience})
	defer cancel()
	var asked, wrote atomic.Bool
	r, err := c.request(httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GetConn:      func(string) { asked.Store(true) },
		WroteHeaders: func() { wrote.Store(true) },
	}), m, id)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		// A transport that does not trace may have sent it.
		a.Err = c.lost(m, cause(ctx, limited, err), asked.Load() && !wrote.Load())
	} else {
		var e envelope
		a.Header = res.Header
		if e, a.Err = c.read(m, res); a.Err == nil {
			a.Err = c.decode(m, res.StatusCode, e.Data, out)
		} else if a.Err.Status == 0 {
			a.Err = c.lost(m, cause(ctx, limited, a.Err.Fault.Unwrap()), false)
		}
		a.ServerTime = e.Meta.Timestamp
	}
	if a.Err != nil {
		a.Err.RequestID = id
		if a.Err.Status == 0 && over(ctx) {
			a.Err.Fault = ended(ctx, m)
		}
	}
	a.Ended = c.now()
	c.observe(ctx, a)
	return a.Err, nil
}

// over reports whether the caller's context ended. A deadline that has passed is noticed by the connection before the
// context has its error.
func over(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || (bounded && !time.Now().Before(deadline))
}

// ended is the fault of a call that the caller's context ended. It is Unavailable, as [fault.From] has it. It wraps the
// context's error and its cause.
func ended(ctx context.Context, m *message) *fault.Error {
	err := ctx.Err()
	if err == nil {
		err = context.DeadlineExceeded
	}
	if why := context.Cause(ctx); why != nil && !errors.Is(why, err) {
		err = fmt.Errorf("%w: %w", err, why)
	}
	return fault.Wrap(fault.Unavailable, err, "the call of %s ended before the answer came", m.operation.Name)
}

// cause is err, or the silence of the server where that ended the attempt.
func cause(ctx, limited context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(limited)
	}
	return err
}
