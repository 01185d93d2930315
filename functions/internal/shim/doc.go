// Package shim connects the Firestore emulator to the functions, in the place of Eventarc: the emulator reports a
// change to it, and it delivers the event until the functions accept it.
//
// It makes up for three differences between the emulator and Eventarc: the emulator sends the protobuf as base64 text,
// it sends the type of the data in a header of its own beside Content-Type, and it sends an event only once, whatever
// the answer.
//
// Nothing that is deployed may import this package.
package shim
