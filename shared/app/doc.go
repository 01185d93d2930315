// Package app builds all domain services from a store and the ports, wires what
// one needs of another, and lists every operation, collection, sweep and reaction. The hub
// and the functions both start here: what they do about a change or at a time is the same
// method, called by a [Follower] of a change feed or by a trigger, by a ticker or a schedule. It holds wiring and nothing else: a rule
// belongs to a domain, a transport to a service.
package app
