// Package domaintest provides the common parts of the tests of domains: a clock that a test moves, sequential ids,
// callers, checks of faults, both stores, and a counter of the RPCs to Firestore.
//
// The fixtures of a domain (a queue with a task, a fire with a duel) stay in its own tests and are built from these
// parts. Code that two domains would otherwise duplicate belongs here. The package may import no domain, and only tests
// may import the package.
//
// A check that fails reports the name of its case and lets the test continue. Only [Must], [Check],
// [Eventually] and the functions that open a store end the test.
package domaintest
