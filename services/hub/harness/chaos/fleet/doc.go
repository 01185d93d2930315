// Package fleet runs hubs as processes of their own, to be killed: each on a free port
// of 127.0.0.1, ready when it says so, its output kept in a file.
//
// A hub ends with the process that started it, even where that was killed; see
// [parley.internal/shared/supervise]. A kill meets the hub's own process and nobody else,
// and the code with which it ended is known and not guessed.
//
// Nothing that ships may import this package.
package fleet
