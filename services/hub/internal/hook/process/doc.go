// Package process runs the process of a hook: it reads the client's input, asks the daemon of this machine or, where
// there is none, the server, prints the answer for the client, and confirms it afterwards.
//
// A hook must never stand in an agent's way. So each call has a budget of time, after which the process ends with the code 0 and
// without a word, as it does after every error: the client goes on as if there were no hook. Two things are said also without
// the server: that a person has paused the session, and that a strict project takes no edits.
//
// A permission request waits for a person for longer, and may ask one. It says nothing unless a rule or a person has
// decided, and its question ends with it: whether nobody answers in time, or the client goes on or ends the process.
package process
