// Package fleet runs hubs as processes of their own, to be killed: each on a free port
// of 127.0.0.1, ready when it says so, its output kept in a file.
//
// A hub never outlives who started it, not even one that was killed: it runs under a
// small shell that reads a pipe from its starter, as the emulator does. The shell
// tells the hub's own process id, so that a kill meets the hub and nobody else, and
// the code with which it ended, so that an end is known and not guessed.
//
// Nothing that ships may import this package.
package fleet
