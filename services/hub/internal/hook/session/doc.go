// Package session is the state of one session of a client, and how it changes: what a hook's call means for the session, what
// is asked of the server, what its answer changes, and what the client reads.
//
// A hook that calls the server by itself and the daemon take the same steps here: Begin, Input, Heard, Reply. There is no
// network, no file and no clock of its own, but the state of the repository, which a hook finds once a session.
package session
