// Package fault holds the kinds of error that a caller of Parley can meet.
//
// A fault is a kind, a message that its reader can act on, and optionally the
// problems found in an input. Domains return faults; the transports map a kind
// to a status in the one table of this package ([Kind.HTTP], [Kind.Code],
// [Kind.Redeliver]). Any error without a kind is [Internal]: its message is for
// the log and never reaches a caller.
//
// The package imports nothing of Parley, so that every other room may use it.
package fault
