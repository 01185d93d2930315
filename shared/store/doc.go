// Package store is the port to durable documents: typed collections, queries,
// transactions and waiting, with the rules in this package and two thin drivers
// behind it (sqlite, firestore).
//
// The rules live here so that both drivers obey them alike: only [DB.User]
// reaches a user's documents; reads come before writes in a transaction, and its
// function may run more than once; every query is bounded and stands on an index
// that its collection declares; a document fits in 1 MiB; times are kept to the
// microsecond. One suite, storetest, holds both drivers to the same promises.
//
// The shape follows what Firestore can do at scale, because a rule that only a
// laptop's database can keep would be broken in the cloud: indexes are declared,
// a query is one range of one index (or several of the same order, merged), and
// nothing is followed by clock or by id. Nothing here knows a domain, HTTP or MCP.
package store
