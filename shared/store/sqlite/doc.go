// Package sqlite is the store's driver for one machine: a single file, pure Go,
// nothing to install.
//
// A document is a row of JSON text. Every declared index is kept as rows of one
// table, whose key names the index, the user and the collection, then holds the
// values of the index's fields and the id, in an encoding whose bytes sort as the
// values do. A query is then a range of keys that begin with its equalities, at a
// cost that does not grow with the store, and answers just what Firestore's index
// would. What only narrows a query (a filter) is looked at in the documents.
//
// One goroutine writes. It takes all transactions that wait, runs them one after
// the other on one connection and commits them together, with one fsync
// (synchronous=FULL: what was acknowledged survives a power cut). A transaction's
// conditions are checked before its first row is touched, so one that is refused
// has changed nothing and the others go on; where a statement or the commit itself
// fails, the group is rolled back and each transaction runs again by itself. No caller's
// context reaches a statement of a group.
//
// The package may not hold rules that Firestore would not keep: those are the port's.
package sqlite
