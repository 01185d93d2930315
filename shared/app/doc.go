// Package app builds all domain services over a store, connects those that need each other, and registers them in one
// list. Every operation, collection, sweep, reaction, resource and prompt is found through that list.
//
// The hub and the functions both start here. A reaction to a change is therefore the same method whether a [Follower]
// of a change feed or a trigger calls it, and a sweep the same whether a ticker or a schedule starts it.
//
// The package holds wiring only: rules belong to the domains, transports to the services.
package app
