package typescript

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrMissing reports that the machine lacks Node or the SDKs. Its text says what to do.
var ErrMissing = errors.New("the TypeScript SDKs are missing")

// SDKs are the SDKs as they are installed.
type SDKs struct {
	node, dir string
}

// The eras of MCP, each with an SDK of its own.
const (
	Legacy = "legacy"
	Modern = "modern"
)

// Find finds Node and the SDKs. It needs the go command, and a working directory in the harness's module. The error
// matches [ErrMissing] if the machine lacks them.
func Find(ctx context.Context) (*SDKs, error) {
	if os.Getenv("PARLEY_NO_NODE") == "1" {
		return nil, fmt.Errorf("%w: PARLEY_NO_NODE=1", ErrMissing)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("%w: install Node 20 or newer: %w", ErrMissing, err)
	}
	text, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "parley.internal/services/hub/harness/e2e").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the SDKs' directory: %w", err)
	}
	s := &SDKs{node: node, dir: strings.TrimSpace(string(text))}
	for _, sdk := range []string{"sdk", "client"} {
		if _, err := os.Stat(filepath.Join(s.dir, "node_modules", "@modelcontextprotocol", sdk)); err != nil {
			return nil, fmt.Errorf("%w: run make setup: %w", ErrMissing, err)
		}
	}
	return s, nil
}

// Call is a call of a tool.
type Call struct {
	Tool      string
	Arguments map[string]any
	// RequestID is the X-Request-Id of the request.
	RequestID string
	// Timeout is the time after which the SDK gives up the call, in milliseconds.
	Timeout int64
}

// Answer is what became of a call.
type Answer struct {
	// Status, Headers and Body came over the network, unless Failed says why nothing came, or the call was given up before.
	Status  int
	Headers map[string]string
	Body    string
	Failed  string
	// Result is the SDK's reading of it, nil where it has thrown Error.
	Result *struct{ IsError bool }
	Error  string
	// GaveUp says that the SDK has given up the call, and Unconnected that it got no connection for it.
	GaveUp, Unconnected bool
}

// Response returns the response that came, without its body; nil if none came.
func (a Answer) Response() *http.Response {
	if a.Status == 0 {
		return nil
	}
	res := &http.Response{StatusCode: a.Status, Header: http.Header{}}
	for name, value := range a.Headers {
		res.Header.Set(name, value)
	}
	return res
}
