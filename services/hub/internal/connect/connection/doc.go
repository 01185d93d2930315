// Package connection keeps the connection of the hooks of one client in one directory to the server: the URL, the key
// or its place in the keyring, and the features that the person switched on.
//
// A connection is a file ID.json of mode 0600 in the user's configuration directory. `parley connect` writes it, and each
// hook names it by its id. A hook starts for every tool call, so this package imports no more than the standard library,
// and the keyring is asked by whoever needs the key.
//
// A file that others can read or write, or that belongs to another user, is refused: others could know the key, or could
// send the agent's work to a server of theirs.
package connection
