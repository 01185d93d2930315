package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The transports.
const (
	mcp  = "MCP"
	rest = "REST"
)

// slice is a timed run of calls of one operation. It uses raw requests and not the client of package client: their bytes
// are the same over both transports but for the framing, and decoding the answers would take CPU time from the server on
// the same machine.
type slice struct {
	target         *target
	op             *operation
	transport      string
	clients, calls int
	keep           bool // keep the bodies of the answers

	took    []time.Duration // of each call
	elapsed time.Duration
	bodies  [][]byte
}

// rate returns the calls per second.
func (s *slice) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// run makes the calls and stops at the first error.
func (s *slice) run(ctx context.Context) error {
	if s.op.prepare != nil {
		if err := s.op.prepare(ctx, s.target, s.calls); err != nil {
			return err
		}
	}
	s.took = make([]time.Duration, s.calls)
	if s.keep {
		s.bodies = make([][]byte, s.calls)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range s.clients {
		wg.Go(func() {
			var buf bytes.Buffer
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= s.calls {
					return
				}
				if err := s.call(ctx, i, &buf); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	s.elapsed = time.Since(begin)
	if ctx.Err() != nil {
		return fmt.Errorf("%s over %s at %d documents: %w",
			s.op.name, s.transport, s.target.documents, context.Cause(ctx))
	}
	return nil
}

func (s *slice) call(ctx context.Context, i int, buf *bytes.Buffer) error {
	r, err := s.request(ctx, i)
	if err != nil {
		return err
	}
	begin := time.Now()
	res, err := s.target.client.Do(r)
	if err != nil {
		return err
	}
	buf.Reset()
	_, err = io.Copy(buf, res.Body)
	_ = res.Body.Close() // the error of reading is returned
	s.took[i] = time.Since(begin)
	if err != nil {
		return err
	}
	if s.keep {
		s.bodies[i] = bytes.Clone(buf.Bytes())
	}
	return s.check(res.StatusCode, buf.Bytes())
}

func (s *slice) request(ctx context.Context, i int) (*http.Request, error) {
	method, path := http.MethodPost, "/mcp"
	args := s.op.args(s.target, i)
	body := args
	if s.transport == mcp {
		body = `{"jsonrpc":"2.0","id":` + strconv.Itoa(i+1) +
			`,"method":"tools/call","params":{"name":"` + s.op.tool + `","arguments":` + args + `}}`
	} else {
		method, path = s.op.route(s.target, i)
	}
	var reader io.Reader
	if method == http.MethodPost {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.target.base+path, reader)
	if err != nil {
		return nil, err
	}
	key := s.target.alpha
	if s.op.beta {
		key = s.target.beta
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.transport == mcp {
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	return r, nil
}

var resultMark, errorMark = []byte(`"result":`), []byte(`"isError":true`)

// check does as little as possible, because the client shares the cores with the server.
func (s *slice) check(status int, body []byte) error {
	good := status == http.StatusOK || status == http.StatusCreated
	if s.transport == mcp {
		good = good && bytes.Contains(body, resultMark) && !bytes.Contains(body, errorMark)
	}
	if !good {
		return fmt.Errorf("the answer was %d: %.500s", status, body)
	}
	return nil
}
