// Package event turns what Eventarc posts into the event that a reaction takes.
//
// What is wrong with a body stays wrong however often it comes, so every error here is an Invalid fault: the event is
// to be dropped. The document's own name in the data says which it is, because the subject is a header, and a header
// does not carry every character.
//
// A document holds what any writer left, a phone too. Kinds of value that the store's port does not know become the
// nearest that it does, as its driver for Firestore reads them, so that a reaction sees the same document whichever way
// it comes.
package event
