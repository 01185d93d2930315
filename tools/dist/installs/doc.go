// Package installs has the tests that make the artifacts of this machine's platform, without a network, install each
// into an empty root, start the installed program, and make a first call of a tool. It is slow, since it builds the
// programs twice: "make proof" runs it.
package installs
