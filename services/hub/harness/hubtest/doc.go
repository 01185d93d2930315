// Package hubtest runs a whole hub in the process of a test and calls it over REST and MCP, as clients do.
//
// A [Hub] is wired like the one of the serve command, on a free port of 127.0.0.1, so that a test meets the real
// router, authentication and store. Its methods send requests that no client library would send, and return answers as
// they came; tests that want typed calls take [Hub.Client]. [Start] runs the program that ships, in a process of its own,
// for the tests that need one. The package is for tests only: nothing that ships may import it. The tests in it
// are those of whole calls that belong to no single package of the hub.
package hubtest
