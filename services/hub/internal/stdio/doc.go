// Package stdio is a bridge for MCP clients that support only the stdio transport. It posts each JSON-RPC line of the
// client to a server's URL and writes the messages of the server's answer as lines.
//
// A bridge handles the transport and knows nothing of the tools: it adds the HTTP headers, and when the server cannot
// be reached it answers in the server's place with an error that names the remedy. It repeats a request only if the
// request surely did not run or may safely run twice; for any other request that was interrupted, the error says that
// the outcome is unknown. No rule of an operation may live here.
//
// Messages pass unchanged, with one exception: a [Hook] may add information that only the client's machine has to the
// results of tools. The information is the concern of the hook's own package.
package stdio
