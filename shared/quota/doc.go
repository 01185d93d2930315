// Package quota bounds what a user keeps in the store: documents, and bytes. It is asked before a call that adds
// something that stays, and by no other, so that a user over the quota can still read, delete, and report on the work
// that it holds.
//
// What is kept is counted by the store, and the count is used for a minute, or for a hundred times as long as the
// counting took. In between, each admitted call is taken for one document of the size of its input. So a user may exceed
// the quota by what the calls of a minute add beyond that, and each further instance of a server may admit as much again;
// and after a deletion it takes up to a minute until there is room.
package quota
