// Package storetest holds the drivers of the store to its promises, and gives
// the tests of domains both of them.
//
// [Suite] is the list of promises; a driver's own tests run it. [Each] runs a
// domain's test on SQLite and on the Firestore emulator, each transaction's first
// attempt aborted, so that a side effect inside of one fails the test.
// It is for tests only, and knows no domain.
package storetest
