// Package event converts the events that Eventarc delivers into the events that reactions handle.
//
// A malformed event is malformed on every delivery, so every error of this package is an Invalid fault, and the event
// is to be dropped. The document is identified by its name in the data, not by the event's subject: the subject is a
// header, and a header cannot carry every character.
//
// Any client may write documents, a phone as well. Values of types that the store does not support are converted as the
// store's driver for Firestore converts them, so that a reaction sees the same document from either source.
package event
