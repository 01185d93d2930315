// Package client calls a Parley server over REST.
//
// [Client] has a method for each operation of the catalogue, with the input and output types of its domain. The
// methods and the table behind them are generated from the catalogue by the command in generate; [Client.Do] is
// the one function under all of them, and takes operations by name.
//
// A call that fails returns an [*Error], which wraps a [*fault.Error]: callers ask for the kind with [fault.Is],
// and for the HTTP status, the request id and the doubt about a write with [errors.As].
//
// # Repetition
//
// A call makes up to [Retry.Attempts] requests. It repeats a request that met CONFLICT, UNAVAILABLE, 429 (but not QUOTA) or
// a connection that could not be opened, because then the server has done nothing. After OUTCOME_UNKNOWN, an answer of
// a proxy or a lost connection the outcome is unknown, so the call repeats a request only where that is harmless: the
// operation reads, or its input has an idempotency key. An operation that takes a key gets one for each call, the same
// in every attempt, unless the caller gave one; with [NoRetry] no key is made. A read that marks its results as read,
// such as get_messages, counts as a write here, because its lost answer may have held the only copy. Where the outcome
// of a write stays unknown, [Error.Uncertain] is true.
//
// # Waits
//
// A request that asks the server to wait (waitMs, wait_ms or timeout_ms) may take that much longer than the
// client's timeout. [Await] waits for longer than the server allows in one call, by repeating it.
//
// # What may not be here
//
// No rule of an operation, no HTTP server and no MCP. A program that imports this package links the domains, because
// their packages hold both the types of an operation and its service, and with them the package store and the schema
// library; no driver of a store is among its dependencies, and no code of a service runs.
package client
