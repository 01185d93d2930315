// Package scale lets many agents of one user work with one server on the embedded store, and measures lost messages,
// duplicates, the latency of a message to a waiting agent, and the memory of the server.
//
// The server is a process of its own, with the flags of a laptop but for the limits on waits, which a thousand agents of
// one user exceed by design. The agents are goroutines of this process. Each has a key and a
// session, waits for its mail with receipts, and now and then sends a message, creates a task or asks its human. Some of
// them wait for tasks too, and some are members of teams. Server and agents share the machine, as on a laptop.
//
// At the end the agents stop sending, and read until nothing is missing or until everything that was read without a
// receipt must have come again.
//
// Nothing that ships may import this package.
package scale
