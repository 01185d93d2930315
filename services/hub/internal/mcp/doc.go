// Package mcp serves the catalogue as MCP tools over streamable HTTP, stateless,
// in both eras of the protocol on one endpoint.
//
// mcp-go does the protocol; what it leaves open for a server that many tenants
// share is closed here, in front of it: a cancellation cannot reach another
// caller's request, no stream is held open, bodies are bounded, and a handler
// never returns a Go error, because that would be a protocol error to the client.
// Whose call it is comes from the key and is checked before mcp-go sees a byte.
//
// Resources are read in front as well, for the caller at hand, and only handed over by
// mcp-go: so its maps hold kinds and no documents, and a fault has the code of its era.
//
// Which tools, resources and prompts a URL serves is a [Selection]. No rule of an operation may live here,
// and no tenant's data may be added to a server's global maps.
package mcp
