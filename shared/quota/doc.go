// Package quota bounds the storage of a user: documents, and bytes. It is asked before a call that adds something that
// stays, and by no other, so that a user over the quota can still read, delete, and report on the work that it holds.
//
// The store counts the documents, and the count is used for a minute, or for a hundred times as long as the counting
// took. In between, each admitted call is taken for one document of the size of its input. So a user may exceed the
// quota by the difference that the calls of a minute make, and each further instance of a server may admit as much
// again; and after a deletion it takes up to a minute until there is room.
package quota
