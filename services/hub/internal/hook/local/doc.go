// Package local keeps the data that hooks and their daemon share on one machine: a directory that the user alone can
// enter, with the daemon's lock and socket, and the states of sessions that outlive a process.
//
// A process writes a state by renaming a complete file, so a kill leaves the old one or the new one. A lock for each session
// keeps a hook that calls the server by itself and the daemon apart. The receipt of output that a hook has shown to a
// model while neither server nor daemon could be told is kept as a mark beside the state, so it is confirmed later and
// the output is not shown twice.
package local
