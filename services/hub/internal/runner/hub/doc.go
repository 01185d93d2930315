// Package hub is the client of a runner for the server: it lists the processes that the server wants, claims them and
// reports their states.
//
// It distinguishes the failures that a runner must distinguish: an unreachable server, a process of another runner, a
// process or team that is gone, and a refused key. No error contains the key or the runner's ID. The package does not
// retry.
package hub
