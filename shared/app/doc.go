// Package app builds all domain services from a store and the ports, gives each the others that it
// needs, and registers them in one list, from which every operation, collection, sweep, reaction,
// resource and prompt is found. The hub and the functions both start here: a reaction to a change is
// the same method whether a [Follower] of a change feed or a trigger calls it, and so is a sweep for a
// ticker and a schedule.
//
// It holds wiring and nothing else: a rule belongs to a domain, a transport to a service.
package app
