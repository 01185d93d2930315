// Package caller is the client of an agent: it calls an operation over MCP or REST and repeats the call if the answer
// permits that.
//
// One function judges each answer, and it is strict: an answer is a success, a refusal with its fault, or one of the
// few transient failures that a client must expect while servers come and go. A call records the outcome of each
// attempt, because an attempt without an answer may have been executed, and an audit must allow for that.
//
// Nothing that ships may import this package.
package caller
