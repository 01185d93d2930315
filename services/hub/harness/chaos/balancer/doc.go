// Package balancer is a small load balancer like those of the cloud: it calls the healthy servers in turn.
//
// A server enters the rotation when its health check succeeds, and leaves it when the check or a connection fails. A
// call goes to one server once: repeating it is left to the client, because only the client knows which calls may be
// repeated. It can lose answers, and let connections go silent as if all packets vanished. Answers that the balancer
// gives in place of a server carry [Header], so that a client can tell them apart.
//
// Nothing that ships may import this package.
package balancer
