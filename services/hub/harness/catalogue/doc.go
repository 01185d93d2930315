// Package catalogue holds the suites over all operations: it runs the examples, refused inputs, owned
// ids and budgets of their specs over both transports and on both stores. The suites name no operation, so that a new
// one is held to them by its domain alone.
//
// It is tests alone. A promise about one operation belongs to its domain, and a promise about a
// transport to the tests of that transport.
package catalogue
