// Package rules tests firestore.rules, the file at the root of the repository, which limits the reads and writes that a
// person's app makes in the database without the hub.
//
// It contains only tests. They use the emulator as an app does, with a user's tokens and the client library. Each
// condition of the rules is violated by itself, and the emulator's coverage report must show every condition both true
// and false. Documents that an app wrote are then read by the real domains.
//
// No package may import this one, and it may define no rule: the domains define valid answers, devices and settings,
// and the rules follow them.
package rules
