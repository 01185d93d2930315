// Package caller is a client as an agent has one: it calls an operation over MCP or
// REST, and calls again where the answer says that it may.
//
// One function judges every answer, and it is strict: success, a refusal with its
// reason, or one of the few things that a client should meet while servers come and go.
// A call keeps what became of each of its attempts, because an attempt without an
// answer may have been done all the same, which is what there is to check afterwards.
//
// Nothing that ships may import this package.
package caller
