// Package optest runs the cases of operations for test suites. It makes the calls that prepare an example, saves values
// of their outputs and inserts these into later inputs.
//
// A suite supplies a [Caller], which makes the calls over a transport or in process; the operations and their inputs
// come from the specs alone, so that a new operation needs no change of a suite. Only tests may import the package, and
// it may name no operation.
package optest
