// Package supply sends the server the files that a verification wants, from a directory of this machine that the
// operator allowed.
//
// A verification collects source files, but the agent's disk is on the client's side of the bridge. So the bridge holds
// the result of a tool that starts a verification or submits a round until it has sent the wanted files, and updates
// the result to include them. It also sends the files that those import, up to three steps deep.
//
// A target that is a directory is listed, and its files are sent with those of the directories below it; no other
// directory is listed for the server.
//
// The server names the wanted files, and it may be hostile or compromised. So every read goes through a
// [workspace.Root], which keeps the list of files that are never read, below the working directory that this client's
// agent named in the call that started the verification; the server names no directory. This package limits the number
// of files, their size and the time, and reports every file that it gives. After a failure the server's answer is passed
// on unchanged.
//
// The package knows the tools of verifications and nothing of the transport, which is
// [parley.internal/services/hub/internal/stdio].
package supply
