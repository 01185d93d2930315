// Package process runs the servers of a development stack beside this program: on a
// free port of 127.0.0.1, ready when it says so, and never outliving who started
// them, not even one that was killed.
//
// A server runs under a small shell that reads a pipe from its starter and ends the
// whole process group when the pipe closes, as the emulator's does.
//
// Nothing that is deployed may import this package.
package process
