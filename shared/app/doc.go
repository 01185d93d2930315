// Package app builds all domain services from a store and the ports, wires what
// one needs of another, and lists every operation, every collection and every sweep. The hub
// and the functions both start here. It holds wiring and nothing else: a rule
// belongs to a domain, a transport to a service.
package app
