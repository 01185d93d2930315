// Package fault defines the errors that Parley returns to its callers.
//
// A fault has a kind, a message that its reader can act on and, for an invalid input, a list of problems. Domains
// return faults. The transports map a kind to a status with the one table of this package ([Kind.HTTP], [Kind.Code],
// [Kind.Redeliver]). An error without a kind is [Internal]: its message is logged and never sent to a caller.
//
// The package may import no other package of Parley, so that every one of them may import it.
package fault
