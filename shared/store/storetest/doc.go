// Package storetest checks that a driver of the store keeps the store's promises, and provides both drivers to the
// tests of domains.
//
// [Suite] is the list of promises, which the tests of each driver run. [Each] runs a domain's test on SQLite and on the
// Firestore emulator. It aborts the first attempt of every transaction, so that side effects in a transaction function
// fail the test.
//
// The package is for tests only and must not know any domain.
package storetest
