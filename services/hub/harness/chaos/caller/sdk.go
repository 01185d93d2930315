package caller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions are connections of the official SDK to one endpoint. Each carries one call at a time; one on which a call
// failed is dropped. The zero value has none.
type sessions struct {
	mu   sync.Mutex
	free []*mcp.ClientSession
}

func (s *sessions) take() *mcp.ClientSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	last := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return last
}

func (s *sessions) put(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, session)
}

// Close ends the sessions of a caller over MCP.
func (c *Caller) Close() error {
	for s := c.sessions.take(); s != nil; s = c.sessions.take() {
		_ = s.Close() // the server keeps nothing of a session
	}
	if c.TypeScript == nil {
		return nil
	}
	return c.TypeScript.Close()
}

// overMCP makes one request with the official SDK for Go. The request is judged by the answer that came over the
// network, which the SDK must read alike.
func (c *Caller) overMCP(ctx context.Context, name, id string, limit time.Duration, args map[string]any) judgement {
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := c.sessions.take()
	if s == nil {
		var err error
		if s, err = c.connect(own); err != nil {
			return judgement{verdict: again, outcome: "no session"}
		}
	}
	seen := &exchange{requestID: id}
	result, err := s.CallTool(context.WithValue(own, exchangeKey{}, seen), &mcp.CallToolParams{Name: name, Arguments: args})
	if err == nil {
		c.sessions.put(s)
	} else {
		_ = s.Close() // it may have ended
	}
	res, body, sent := seen.answer()
	if sent != nil && ctx.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded) {
		c.stuck(name, id)
	}
	j := judge(res, body, sent)
	if ours := j.verdict == success; ctx.Err() == nil && ours && (err != nil || result.IsError) || err == nil && !ours && !result.IsError {
		return unsent(fmt.Errorf("the SDK makes %v, %v of %.300s", result, err, body))
	}
	return j
}

func (c *Caller) connect(ctx context.Context) (*mcp.ClientSession, error) {
	own := *c.Client
	own.Transport = recorder{c.Client.Transport, c.Key}
	client := mcp.NewClient(&mcp.Implementation{Name: "parley-chaos", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.Endpoint(),
		HTTPClient: &own, MaxRetries: -1, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: c.Protocol})
}

// Endpoint returns the URL of the MCP endpoint.
func (c *Caller) Endpoint() string { return c.Base + "/mcp?toolsets=" + strings.Join(c.Toolsets, ",") }

type exchangeKey struct{}

// exchange is the answer that came over the network for a call of a tool.
type exchange struct {
	requestID string

	mu   sync.Mutex
	res  *http.Response
	body []byte
	err  error
}

var errUnanswered = errors.New("nothing was answered")

func (e *exchange) answer() (*http.Response, []byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.res == nil && e.err == nil {
		return nil, nil, errUnanswered
	}
	return e.res, e.body, e.err
}

// recorder sends the requests of a session with its key, and records the answer to the call of a tool.
type recorder struct {
	base http.RoundTripper
	key  string
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+r.key)
	e, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if e == nil || !calls(req) {
		return r.base.RoundTrip(req)
	}
	req.Header.Set("X-Request-Id", e.requestID)
	res, err := r.base.RoundTrip(req)
	var body []byte
	if err == nil {
		body, err = read(res)
		res.Body = io.NopCloser(bytes.NewReader(body))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.res, e.body, e.err = res, body, err
	if err != nil {
		return nil, err
	}
	return res, nil
}

// calls reports whether a request calls a tool; the context of a call is also that of the notification that cancels it.
func calls(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return err == nil && bytes.Contains(text, []byte(`"method":"tools/call"`))
}
