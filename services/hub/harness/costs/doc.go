// Package costs counts what Parley costs in the cloud. A test has a hub answer a day's
// mix of calls on the Firestore emulator, has the functions react to what that changed
// and sweep up behind it until nothing is left, and counts the documents that were read,
// written and deleted, and the functions that were called. The prices of Google's list
// make dollars of it, and the tables stand in docs/operate.md, between two marks; a table
// that says something else than what was counted fails the test. -update writes it anew.
//
// The package has no code that ships, and nothing may import it. The mix, the load and
// the assumptions are data, in files of their own, so that an operator can put in theirs.
//
// What is counted does not depend on the machine: calls are made one by one under a clock
// that stands still. What would depend on it, listeners and caches, is counted once and
// multiplied.
package costs
