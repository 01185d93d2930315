// Package hook serves the hooks of agents' clients: one call for each event of a client's session, and one wait for all
// sessions of a program on a machine.
//
// A call keeps its session alive and says what it does, hands over its mail and the answers to its questions, tells what
// became of its claims, decides about edits and records usage, in as few round trips as can be. What it hands over is
// confirmed by the receipt in a later call; a hook that dies with its answer loses nothing. Messages remember that
// themselves, as all reads of the mail do; a question remembers it in its own document; what a session was told of its
// claims is in the session's link, the one document of this package.
//
// A wait consumes nothing. It says of each session what waits, and who may wake an agent for it.
//
// The types of both calls are in package wire. This package imports no other domain: what it needs of them are the
// interfaces of ports.go. Tasks it reads by itself, because the domains share them.
package hook
