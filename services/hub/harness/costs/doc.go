// Package costs counts the costs of Parley in the cloud. A test lets a hub answer a day's mix of calls on the Firestore
// emulator, lets the functions react to the changes and sweep until nothing is left, and counts the documents read,
// written and deleted and the calls of functions. Google's price list turns these counts into dollars. The tables are in
// docs/costs.md between two marks; the test fails if they differ from the counts, and -update rewrites them.
//
// The package consists of tests, and nothing may import it. The mix, the load and the assumptions are data in files of
// their own, so that operators can replace them with theirs.
//
// The counts do not depend on the machine: calls are made one by one under a clock that stands still. Costs that would
// depend on it, those of listeners and caches, are counted once and multiplied.
package costs
