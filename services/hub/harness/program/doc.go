// Package program builds the hub's program, parley, for the tools and tests that run it as a process of its own.
//
// It is compiled in the hub's own module and not through the harness's: without the workspace the versions are those of
// the hub's go.mod, so that a test meets the program that ships. Nothing but the build may be in this package.
package program
