// Package datadir finds the data directory of a laptop's server, and gives it to one process at a time.
//
// A process has the directory while it holds the lock of the file parley.lock, which the system releases with the
// process, however it ends. The file describes the holder of the lock: a server's address for people, and a socket for
// the commands of operators. The file is not removed, since two processes could then hold locks of two files of one
// name.
//
// The socket is for the owner of the directory alone: it has the mode 0600, both ends ask the system for the other's
// user, and a connection must present the token in the lock file, which protects it where the system does not tell
// users.
package datadir
