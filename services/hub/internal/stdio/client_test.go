package stdio_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"parley.internal/services/hub/internal/stdio"
)

func TestAClientOfEachProtocolEraCallsAToolThroughTheBridge(t *testing.T) {
	t.Parallel()
	m := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	m.AddTool(mcp.NewTool("echo", mcp.WithString("text")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(req.GetString("text", "")), nil
		})
	h := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true),
		server.WithDisableStreaming(true)))
	t.Cleanup(h.Close)
	for _, version := range []string{mcp.ProtocolVersion20260728, "2025-11-25", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- (&stdio.Bridge{URL: h.URL + "/mcp", In: inR, Out: outW}).Run(t.Context())
			}()
			c := mcpclient.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader(""))))
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			init := mcp.InitializeRequest{}
			init.Params.ProtocolVersion = version
			if _, err := c.Initialize(t.Context(), init); err != nil {
				t.Fatal(err)
			}
			if c.ProtocolVersion() != version {
				t.Errorf("they speak %s", c.ProtocolVersion())
			}
			list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(list.Tools) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			call := mcp.CallToolRequest{}
			call.Params.Name, call.Params.Arguments = "echo", map[string]any{"text": "grüß dich\n"}
			res, err := c.CallTool(t.Context(), call)
			if err != nil || len(res.Content) != 1 || res.Content[0].(mcp.TextContent).Text != "grüß dich\n" {
				t.Errorf("%+v, %v", res, err)
			}
			_ = outR.Close() // no one reads later lines
			_ = inW.Close()
			<-ended
		})
	}
}
