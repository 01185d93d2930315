// Package balancer is a load balancer as the cloud has one, small enough to see
// through: servers in turn, those alone that answer.
//
// A server is taken into rotation once it answers for its health, and taken out when
// it does not, or when a call finds nobody there. A call goes to one server once: a
// repetition is the client's affair, because only the client knows what may be repeated.
// What the balancer answers by itself, where no server does, carries [Header], so that
// a client can tell it from what a server says.
//
// Nothing that ships may import this package.
package balancer
