// Package process is what a hook's process does: it reads what the client says, asks the daemon of this machine or, where there
// is none, the server, prints what the client is to read, and confirms it afterwards.
//
// A hook must never stand in an agent's way. So each call has a budget of time, after which the process ends with the code 0 and
// without a word, as it does after every error: the client goes on as if there were no hook. Two things are said also without
// the server: that a person has paused the session, and that a strict project takes no edits.
package process
