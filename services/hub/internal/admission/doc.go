// Package admission decides which signed-in people a server admits. Anybody can sign up in a Firebase project that
// allows it, so a verified sign-in by itself grants nothing: a person is admitted by the server's list, or by a claim
// that only an administrator of the project can set.
//
// The package compares identities and does nothing else. That they are true is verified by package firebase.
package admission
