// Package catalogue tests all operations of the catalogue. It runs the examples, refused inputs, owned ids and RPC
// budgets of their specs over both transports and on both stores.
//
// The package holds tests only. They name no operation, so that a new operation is tested without a change here. A test
// of one operation belongs to its domain, and a test of a transport to the package of that transport.
package catalogue
