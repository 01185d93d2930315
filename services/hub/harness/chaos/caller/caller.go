package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/shared/client"
	"parley.internal/shared/sleep"
)

// Caller calls operations with one key. It is safe for concurrent use.
type Caller struct {
	// Name is the first part of its request ids. It consists of letters, digits, dots and hyphens.
	Name string
	// REST is used by a caller without toolsets.
	REST *client.Client
	// Toolsets are the toolsets of its MCP endpoint; empty means REST. Base is the server's http://host:port.
	Toolsets []string
	// Protocol is the version of MCP that it asks for first, the newest where it is empty.
	Protocol string
	// TypeScript calls the MCP endpoint in place of the SDK for Go; it is closed with the caller.
	TypeScript *typescript.Agent
	Base       string
	Key        string
	Client     *http.Client
	Now        func() time.Time
	// Count is called after each attempt.
	Count func(op, outcome string, took time.Duration)
	// Stuck is called when an attempt exceeds its time limit although its context has not ended.
	Stuck func(op, requestID string)
	// Slack is the time that an answer may take in addition to the wait that its call asks for.
	Slack time.Duration
	// Silent reports whether nothing will be heard of a request, which then is given up after its wait and Patience, and
	// nobody is told. Nil means none.
	Silent   func(requestID string) bool
	Patience time.Duration

	serial   atomic.Int64
	sessions sessions
}

// Attempt is one request of a call.
type Attempt struct {
	RequestID string
	Began     time.Time
	Ended     time.Time
	// Unknown reports that the server may have executed the request, although no answer says so, and Silent that its
	// connection went silent, so that the server may execute it even after the end.
	Unknown, Silent bool
}

// Call is a call with all its attempts. There is at least one; the last one got the answer.
type Call struct {
	Attempts []Attempt
}

// Began returns the time at which the first attempt was sent.
func (c Call) Began() time.Time { return c.Attempts[0].Began }

// Ended returns the time at which the answer was complete.
func (c Call) Ended() time.Time { return c.Attempts[len(c.Attempts)-1].Ended }

// RequestID returns the id of the last attempt.
func (c Call) RequestID() string { return c.Attempts[len(c.Attempts)-1].RequestID }

// Unsure returns the attempts that the server may have executed without an answer.
func (c Call) Unsure() (out []Attempt) {
	for _, a := range c.Attempts {
		if a.Unknown {
			out = append(out, a)
		}
	}
	return out
}

// The pauses between attempts.
const (
	firstPause = 25 * time.Millisecond
	longPause  = time.Second
)

// Do calls an operation until it is answered and decodes the answer into out. wait is the wait that the arguments ask
// for. A fault after which the call must not be repeated is a *[Refusal]; any other error means that ctx ended, and
// wraps its cause.
func (c *Caller) Do(ctx context.Context, name string, wait time.Duration, args map[string]any, out any) (Call, error) {
	var call Call
	id := fmt.Sprintf("%s-%d", c.Name, c.serial.Add(1))
	for try := 1; ; try++ {
		a := Attempt{RequestID: fmt.Sprintf("%s.%d", id, try), Began: c.Now()}
		j := c.attempt(ctx, name, a.RequestID, wait, args)
		a.Ended, a.Unknown, a.Silent = c.Now(), j.verdict == unknown, c.silent(a.RequestID)
		call.Attempts = append(call.Attempts, a)
		if ctx.Err() != nil && j.verdict != success {
			return call, unfinished(ctx, name, call, j.outcome)
		}
		c.Count(name, j.outcome, a.Ended.Sub(a.Began))
		switch j.verdict {
		case success:
			if err := json.Unmarshal(j.data, out); err != nil {
				return call, &Refusal{Op: name, Code: "garbled", Message: err.Error(), Status: http.StatusOK,
					RequestID: a.RequestID}
			}
			return call, nil
		case refused:
			j.refusal.Op, j.refusal.RequestID = name, a.RequestID
			return call, j.refusal
		}
		if !pause(ctx, try, j.after) {
			return call, unfinished(ctx, name, call, j.outcome)
		}
	}
}

// unfinished returns the error of a call whose context ended.
func unfinished(ctx context.Context, name string, call Call, outcome string) error {
	took := call.Ended().Sub(call.Began()).Round(time.Millisecond)
	return fmt.Errorf("%s was given up after %d attempts in %v, the last %s with %q: %w",
		name, len(call.Attempts), took, call.RequestID(), outcome, context.Cause(ctx))
}

// pause waits before the next attempt and reports whether ctx still lasts.
func pause(ctx context.Context, try int, atLeast time.Duration) bool {
	d := longPause
	if try < 6 {
		d = firstPause << (try - 1)
	}
	return sleep.For(ctx, max(atLeast, d/2+rand.N(d/2))) == nil
}

// attempt makes one request.
func (c *Caller) attempt(
	ctx context.Context, name, id string, wait time.Duration, args map[string]any,
) judgement {
	slack := c.Slack
	if c.silent(id) {
		slack = c.Patience
	}
	switch {
	case len(c.Toolsets) == 0:
		return c.overREST(ctx, name, id, slack, args)
	case c.TypeScript != nil:
		return c.overTypeScript(ctx, name, id, wait+slack, args)
	}
	return c.overMCP(ctx, name, id, wait+slack, args)
}

func (c *Caller) silent(id string) bool { return c.Silent != nil && c.Silent(id) }

// stuck tells of an attempt that has exceeded its time limit, unless that was to be expected.
func (c *Caller) stuck(name, id string) {
	if !c.silent(id) {
		c.Stuck(name, id)
	}
}

// overREST makes one request over REST. The client repeats nothing, because each attempt is judged here. It takes the
// wait from the arguments.
func (c *Caller) overREST(ctx context.Context, name, id string, slack time.Duration, args map[string]any) judgement {
	var header http.Header
	once := c.REST.With(client.WithRetry(client.NoRetry), client.WithTimeout(slack),
		client.WithRequestID(func() string { return id }),
		client.WithObserver(func(_ context.Context, a client.Attempt) { header = a.Header }))
	var data json.RawMessage
	err := once.Do(ctx, name, args, &data)
	var e *client.Error
	switch {
	case err == nil:
		return judgement{verdict: success, outcome: "ok", data: data}
	case !errors.As(err, &e):
		return unsent(err)
	case e.Status == 0 && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		c.stuck(name, id)
	}
	return judgeREST(e, header)
}

// unsent returns the judgement of a request that could not be sent.
func unsent(err error) judgement {
	return judgement{verdict: refused, outcome: "not sent", refusal: &Refusal{Code: "not sent", Message: err.Error()}}
}
