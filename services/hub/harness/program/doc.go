// Package program builds the hub's program, parley, for the tools and tests that run it as a process of its own.
//
// The program is compiled in the hub's module, not in the harness: without the workspace the versions are those of the
// hub's go.mod, so that a test runs the program that ships. Nothing but the build may be in this package.
package program
