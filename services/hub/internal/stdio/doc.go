// Package stdio is the bridge for MCP clients that speak over a pipe only: it carries each line of JSON-RPC to a
// server's URL as a POST, and what the server answers back as lines.
//
// A bridge knows the transport and nothing of the tools: it adds the headers that HTTP wants, and gives a client an
// answer that it can act on when the server cannot be reached. A request is repeated only where it surely did not run
// or does no harm twice; for any other that broke off, the answer says that its outcome is unknown. No rule of an
// operation may live here.
//
// No message is changed on its way, with one exception: a [Hook] may add to the results of tools what only the client's
// machine has. What a hook does with them is not this package's business.
package stdio
