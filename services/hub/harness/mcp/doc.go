// Package mcp holds the tests of the MCP endpoint of a running hub: both protocol eras, the holes of mcp-go that the
// hub closes, toolsets, resources and prompts, and the published names of the tools (testdata/names).
package mcp
