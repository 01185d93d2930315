// Package feed lists the changes since a cursor for a person, so that a view of the account need not be read again as a
// whole.
//
// It stands on the log of the store, which a change and its entry enter in one commit. The package adds nothing to an
// entry and keeps no state: the cursor is the caller's, and says what the caller has seen. It is for people alone, who may
// read everything of their account; what an agent may see of it is not decided here.
package feed
