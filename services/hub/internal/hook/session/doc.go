// Package session is the state of one session of a client and its changes: by a hook's call and by the server's answer
// to it. It makes the request to the server and the output that the client reads.
//
// A hook that calls the server by itself and the daemon take the same steps here: Begin, Input, Heard, Reply. The
// package uses no network, no clock and no file but those of the repository, whose state a hook finds once a session.
package session
