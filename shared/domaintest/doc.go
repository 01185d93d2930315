// Package domaintest is the ground that the tests of domains stand on: a clock
// that a test moves, ids that count, callers, checks of faults, both stores, and
// a counter of the RPCs that Firestore is sent.
//
// A domain's own world (a queue with a task, a fire with a duel) stays in the
// domain's tests and is built from these. What two domains would write alike
// belongs here; a domain's types and words do not. The package knows no domain,
// and tests alone may import it.
//
// Checks name the case that failed and leave the test running; only [Must],
// [Check] and the functions that open a store end it.
package domaintest
