// Package fleet runs hubs as separate processes that can be killed. Each serves on a free port of 127.0.0.1 that it
// prints, and its output is kept in a file.
//
// A hub ends with the process that started it, even if that one was killed; see
// [parley.internal/shared/supervise]. A signal reaches only the hub's own process, and its exit code is known.
//
// Nothing that ships may import this package.
package fleet
