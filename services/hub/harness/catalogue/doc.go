// Package catalogue holds the suites over all operations: what an operation's spec says of it, its
// examples, refused inputs, owned ids and budget, is run here over both transports and on both
// stores. The suites name no operation, so that a new one is held to them by its domain alone.
//
// It is tests alone. A promise about one operation belongs to its domain, and a promise about a
// transport to the tests of that transport.
package catalogue
