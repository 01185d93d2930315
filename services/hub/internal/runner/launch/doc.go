// Package launch starts a teammate's process so that none exists which its runner has not written down, knows it again
// by its PID and start time, and ends it with all that it started.
//
// A program of the runner's own goes first: it is the head of a session and a process group, waits on a pipe, and
// becomes the command, under the same PID, when it is told what to run. Between the two the runner writes the PID down.
// A runner that dies before has closed the pipe, and nothing was run. The directory is checked from inside it, after it
// was entered, so that nobody can swap it in between.
//
// It knows processes and no teammates: no server, no journal, no template.
package launch
