// Package shim stands between the Firestore emulator and the functions, as Eventarc stands between Firestore and them:
// the emulator tells it of a change, and it delivers the event until it is taken.
//
// It mends what the emulator does otherwise than Eventarc: the body is base64 text of the protobuf, the data's type is
// a header of its own beside Content-Type, and an event is told once, whatever the answer.
//
// Nothing that is deployed may import this package.
package shim
