package supply_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/mcp"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/keys"
	"parley.internal/shared/store/storetest"
)

// hub is a hub that serves MCP in this process.
type hub struct {
	t   *testing.T
	url string
	app *app.App
}

// startHub serves MCP over an empty store until the test ends.
func startHub(t *testing.T) *hub {
	t.Helper()
	db := storetest.SQLite(t, app.Schema())
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	a := app.New(db, app.Ports{Now: time.Now, NewID: newID})
	authenticator := auth.New(a.Keys, time.Now, auth.Limits{})
	rests := &rest.Server{Catalogue: a.Catalogue(), Auth: authenticator, Now: time.Now, NewID: newID,
		Version: "test", Loopback: true}
	endpoint := &mcp.Endpoint{Catalogue: a.Catalogue(), Version: "test",
		Log: slog.New(slog.DiscardHandler)}
	handler := rests.Echo(func(e *echo.Echo) { endpoint.Mount(e, "/mcp", authenticator) })
	h := httptest.NewServer(handler)
	t.Cleanup(func() {
		db.Drain()
		h.Close()
	})
	return &hub{t: t, url: h.URL, app: a}
}

// agent creates a key for a program and returns it.
func (s *hub) agent(program string) string {
	s.t.Helper()
	made, err := s.app.Keys.Issue(s.t.Context(), "u", keys.CreateInput{Program: program})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Key
}

// message returns a JSON-RPC request in the form of the protocol versions before 2026-07-28.
func message(id any, method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

// tool calls a tool of the toolset elenchus without a bridge and returns the body of the answer.
func (s *hub) tool(key, name string, args map[string]any) string {
	s.t.Helper()
	text, err := json.Marshal(message(1, "tools/call", map[string]any{"name": name, "arguments": args}))
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/mcp/x/elenchus", bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// result is the result of a tool.
type result struct {
	Content           []struct{ Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// resultOf decodes the answer to a successful call of a tool.
func resultOf(t *testing.T, line string) result {
	t.Helper()
	var m struct{ Result result }
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.IsError || len(m.Result.Content) == 0 {
		t.Fatalf("no success: %v: %s", err, line)
	}
	return m.Result
}
