// Package hook serves the hooks of agents' clients: one call for each event of a client's session, and one wait for all
// sessions of a program on a machine.
//
// A call keeps its session alive and records its activity, hands over its mail and the answers to its questions,
// reports changes of its claims, decides about edits and records usage, in as few round trips as can be. The mail and
// answers are confirmed by the receipt in a later call; a hook that dies with its answer loses nothing. Each message
// and each question records in its own document that it was handed over; the claims that a session was told are in the
// session's link, the one document of this package.
//
// A wait consumes nothing. For each session it returns the counts of its mail and answers, and the reasons to wake its
// agent.
//
// The types of both calls are in package wire. This package imports no other domain: its needs are the interfaces of
// ports.go. It reads tasks by itself, because the domains share them.
package hook
