// Package mcp holds the tests of the MCP endpoint of a running hub: the eras of the protocol, the front that protects
// mcp-go on a server of many tenants, toolsets, resources and prompts, and the published names of the tools, whose
// goldens are in testdata/names.
package mcp
