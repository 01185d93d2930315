// Package sqlite is the store's driver for one machine: a single file, written in pure Go, with nothing to install.
//
// A document is a row of JSON text. The rows of all declared indexes are in one table. The key of a row is the number
// of the index, the user, the collection, the values of the index's fields and the document's id, in an encoding whose
// bytes sort as the values do. A query is thus a range of keys with a common prefix, at a cost that does not grow with
// the store, and has exactly the result of Firestore's index. Indexes that only narrow a query (Filters) are not kept;
// the driver tests the documents instead.
//
// One goroutine writes. It takes all waiting transactions, runs them one after the other on one connection and commits
// them together, with one fsync (synchronous=FULL: an acknowledged write survives a power cut). The conditions of a
// transaction are checked before its first row is written, so a refused transaction has changed nothing and the others
// go on. If a statement or the commit fails, the group is rolled back and each transaction runs again by itself. No
// caller's context reaches a statement of a group, because its end would roll back the writes of others.
//
// Several processes may have the file open, if they keep the same indexes. The set of indexes is changed by a process that
// has the file alone, when it opens it, because one that goes on with the indexes that it knows would leave the others
// wrong for good. Every commit checks the version of the set as well, for file systems without working locks.
//
// The package must not contain rules that Firestore could not keep; rules belong to the port, package store.
package sqlite
