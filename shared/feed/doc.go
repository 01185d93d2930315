// Package feed lists the changes since a cursor for a person, so that a view of the account need not be read again as a
// whole.
//
// It stands on the log of the store, which a change and its entry enter in one commit. The package adds nothing to an
// entry and keeps no state: the cursor is the caller's, and marks the last change that the caller has seen. It is for
// people alone, who may read everything of their account, unless the scopes of a key narrow that to some toolsets; the
// rights of agents are not decided here.
package feed
