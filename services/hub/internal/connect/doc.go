// Package connect writes the settings with which clients of agents reach a server: the entry of the MCP server, hooks, a
// section of rules, and the entries that keep git from committing them; and takes them out again.
//
// A [Client] knows its files and their form, each in a file of this package. A [Plan] computes the changes of the files
// from their bytes, shows the changes as a diff and makes them. Foreign bytes stay as they are: entries of JSON are
// added by package jsonedit, lines of other files by package block.
//
// The changes are recorded beside the connections: the files and objects that were made, and a hash of each file. A
// file that nobody changed since gets its earlier bytes back when the connection is taken out; in a file that somebody
// changed, the entries of the connection are found by its id.
//
// Settings files are edited, because every version of the clients reads them, a change takes effect in running sessions,
// and no marketplace has to be trusted. On request the hooks of Claude Code are a plugin instead, in a directory of Parley's
// own from which the client reads it in place: the settings then only name that directory and enable the plugin.
//
// A file that holds a key is never one that git would commit. The package makes no keys and calls no server.
package connect
