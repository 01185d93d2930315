// Package stack is all of Parley on this machine as it runs in the cloud: the Firestore emulator with its triggers, the
// functions behind the Functions Framework, the hub, and a stand-in for Firebase Cloud Messaging. It serves tests and
// whoever tries something out.
//
// The hub and the functions are the programs that ship, built for the purpose: the hub's module cannot be imported from
// here, and the framework's server knows no end. Everything listens on 127.0.0.1, and nothing outlives the program that
// started it.
//
// Nothing that is deployed may import this package.
package stack
