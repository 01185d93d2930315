// Package stack runs all of Parley on this machine as it runs in the cloud: the Firestore emulator with its triggers,
// the functions behind the Functions Framework, the hub, and a stand-in for Firebase Cloud Messaging. It is for tests
// and for development.
//
// The hub and the functions run as the programs that ship, built for each stack, because the hub's internal packages
// cannot be imported from this module and the framework's server cannot be stopped. Every server listens on 127.0.0.1
// and ends with the program that started the stack.
//
// Nothing that is deployed may import this package.
package stack
