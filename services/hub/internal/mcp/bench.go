//go:build parleybench

package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// benchReply is half of the reply of bench_noop, a tool outside the catalogue that measures the cost of a call by
// itself. The reply is as long as that of create_task, which sends its result as text and in structured form.
const benchReply = `{"taskId":"0190a5c0-7b1e-7c3a-9f54-000000000000","status":"created","source":"alpha",` +
	`"verified":true,"target":"beta","createdAt":"2026-01-01T00:00:00.000000000Z"}`

func init() {
	extras = func(m *server.MCPServer) {
		m.AddTool(mcp.NewTool("bench_noop", mcp.WithDescription("Does nothing.")),
			func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(benchReply + benchReply), nil
			})
	}
}
