// Package store is the port to durable documents: typed collections, queries, transactions and waits. It has two
// drivers, sqlite and firestore.
//
// The rules are in this package, so that both drivers obey them alike. [DB.User] gives access to the documents of one
// user; only [Admin], for background work, reaches those of all. In a transaction, reads come before writes, and its
// function may run more than once. Every query is bounded and uses an index that its collection declares. A document
// has at most 1 MiB. Times are kept to the microsecond. The suite in storetest checks these promises on both drivers.
//
// The design follows the abilities of Firestore at scale, because a promise that only a local database can keep would
// be broken in the cloud. Indexes are declared. A query reads one range of one index, or merges several indexes of the
// same order. A reader that follows a collection follows a number assigned in the transaction, never a clock or an id,
// because transactions do not commit in the order of either. The package knows no domain, no HTTP and no MCP.
package store
