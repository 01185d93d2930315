// Package mcp serves the catalogue as MCP tools, resources and prompts over streamable HTTP. The endpoint is stateless
// and speaks both eras of the protocol: 2026-07-28, and the versions before it that begin with initialize.
//
// The library mcp-go implements the protocol. A front before it closes the gaps that matter on a server of many
// tenants: it authenticates the caller before mcp-go reads the request, drops cancellations, which could reach another
// caller's request, opens no streams and bounds bodies. A tool's handler never returns a Go error, because clients
// would see a protocol error that no model is shown; it returns the fault as a result.
//
// The front keeps the id of a request as text: mcp-go sees a stand-in, and the response gets the id back byte for byte.
// It knows the caller, so the instructions of initialize and server/discover are made for each request, from the
// caller's key, the toolsets of the URL and the lines of the domains.
//
// The front also reads resources, and mcp-go only returns them. So the maps of mcp-go hold kinds of resources and no
// documents, and a fault has the error code of its era.
//
// A [Selection] says which tools, resources and prompts a URL serves. Servers are built per selection and shared by
// all callers: no tenant's data may be added to one. No rule of an operation may be in this package.
package mcp
