package caller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley.internal/shared/op"
)

// Caller calls operations with one key. It may be used by many at once.
type Caller struct {
	// Name is the first part of the ids of its requests: letters, digits, dots and hyphens.
	Name string
	Key  string
	// Base is the http://host:port that it calls.
	Base string
	// Toolsets are what its MCP endpoint serves; empty for a caller over REST.
	Toolsets []string
	// Routes are the REST routes of operations, by their names.
	Routes map[string]string
	Client *http.Client
	Now    func() time.Time
	// Count is told of every attempt.
	Count func(op, outcome string, took time.Duration)
	// Stuck is told of an attempt that got no answer in its time, although nobody ended it.
	Stuck func(op, requestID string)
	// Slack is how long an answer may take beyond what the call waits for.
	Slack time.Duration

	serial atomic.Int64
}

// Attempt is one request of a call.
type Attempt struct {
	RequestID string
	Began     time.Time
	Ended     time.Time
	// Unknown says that it may have been done, although no answer says so.
	Unknown bool
}

// Call is a call that was answered, with what came before the answer.
type Call struct {
	Attempts []Attempt
}

// Began is when it was first sent.
func (c Call) Began() time.Time { return c.Attempts[0].Began }

// Ended is when the answer was there.
func (c Call) Ended() time.Time { return c.Attempts[len(c.Attempts)-1].Ended }

// Unsure are the attempts that may have been done without an answer.
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

// Do calls an operation until it is answered, and decodes the answer into out. wait is
// how long the call itself waits. A fault that may not be repeated is a *[Refusal]; any
// other error says that ctx ended, and why.
func (c *Caller) Do(ctx context.Context, name string, wait time.Duration, args map[string]any, out any) (Call, error) {
	var call Call
	id := fmt.Sprintf("%s-%d", c.Name, c.serial.Add(1))
	for try := 1; ; try++ {
		a := Attempt{RequestID: fmt.Sprintf("%s.%d", id, try), Began: c.Now()}
		j := c.attempt(ctx, name, a.RequestID, wait, args)
		a.Ended, a.Unknown = c.Now(), j.verdict == unknown
		call.Attempts = append(call.Attempts, a)
		if ctx.Err() != nil && j.verdict != success {
			return call, unfinished(ctx, name, call, j.outcome)
		}
		c.Count(name, j.outcome, a.Ended.Sub(a.Began))
		switch j.verdict {
		case success:
			if err := json.Unmarshal(j.data, out); err != nil {
				return call, &Refusal{Op: name, Code: "garbled", Message: err.Error(), Status: http.StatusOK, RequestID: a.RequestID}
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

// unfinished is the error of a call that was given up.
func unfinished(ctx context.Context, name string, call Call, outcome string) error {
	n, took := len(call.Attempts), call.Ended().Sub(call.Began()).Round(time.Millisecond)
	return fmt.Errorf("%s was given up after %d attempts in %v, the last %s with %q: %w", name, n, took, call.Attempts[n-1].RequestID, outcome, context.Cause(ctx))
}

func pause(ctx context.Context, try int, atLeast time.Duration) bool {
	d := longPause
	if try < 6 {
		d = firstPause << (try - 1)
	}
	timer := time.NewTimer(max(atLeast, d/2+rand.N(d/2)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt makes one request.
func (c *Caller) attempt(ctx context.Context, name, id string, wait time.Duration, args map[string]any) judgement {
	own, cancel := context.WithTimeout(ctx, wait+c.Slack)
	defer cancel()
	req, err := c.request(own, name, args)
	if err != nil {
		return judgement{verdict: refused, outcome: "not sent", refusal: &Refusal{Code: "not sent", Message: err.Error()}}
	}
	req.Header.Set("X-Request-Id", id)
	var body []byte
	res, err := c.Client.Do(req)
	if err == nil {
		body, err = read(res)
	}
	if err != nil && ctx.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded) {
		c.Stuck(name, id)
	}
	return judge(len(c.Toolsets) > 0, res, body, err)
}

func (c *Caller) request(ctx context.Context, name string, args map[string]any) (req *http.Request, err error) {
	if len(c.Toolsets) > 0 {
		params := map[string]any{"name": name, "arguments": args}
		req, err = send(ctx, http.MethodPost, c.Base+"/mcp?toolsets="+strings.Join(c.Toolsets, ","),
			map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	} else {
		route, known := c.Routes[name]
		if !known {
			return nil, fmt.Errorf("no route of %s is known", name)
		}
		method, path, rest := place(route, args)
		req, err = send(ctx, method, c.Base+path, rest)
	}
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req, nil
}

func send(ctx context.Context, method, target string, body map[string]any) (*http.Request, error) {
	if body == nil {
		return http.NewRequestWithContext(ctx, method, target, nil)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// place puts arguments where a route has them: into its path, and the rest into its
// query or its body.
func place(route string, args map[string]any) (method, path string, body map[string]any) {
	method, path = op.Method(route), op.Path(route)
	body = map[string]any{}
	for name, v := range args {
		if hole := "{" + name + "}"; strings.Contains(path, hole) {
			path = strings.ReplaceAll(path, hole, url.PathEscape(fmt.Sprint(v)))
			continue
		}
		body[name] = v
	}
	if method != http.MethodGet && method != http.MethodDelete {
		return method, path, body
	}
	q := url.Values{}
	for name, v := range body {
		q.Set(name, fmt.Sprint(v))
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return method, path, nil
}
