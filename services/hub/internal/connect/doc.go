// Package connect writes the settings with which clients of agents reach a server: the entry of the MCP server, hooks, a
// section of rules, and what keeps git from committing them; and takes them out again.
//
// A [Client] knows its files and their form, each in a file of this package. A [Plan] computes what changes in them from
// their bytes, shows it as a diff and makes the changes. Foreign bytes stay as they are: entries of JSON are added by
// package jsonedit, lines of other files by package block.
//
// What was changed is recorded beside the connections: which files and objects were made, and a hash of each file. A file
// that nobody changed since gets its earlier bytes back when it is taken out; in one that somebody changed, what belongs
// to the connection is found by its id.
//
// Settings files are edited rather than a plugin installed, because every version of the clients reads them, a change
// takes effect in running sessions, and no marketplace has to be reached or trusted.
//
// A file that holds a key is never one that git would commit. The package makes no keys and calls no server.
package connect
