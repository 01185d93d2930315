// Package operator performs the commands of operators: on a store itself ([Local]), or by way of the server that has
// its data directory ([Remote], which [Handler] answers).
//
// Whoever may open the store's file, or connect to the socket of its server, may act as any user, so no call is checked
// for a caller's rights. The package is never reached by way of a network.
//
// Files go through the socket, and each end opens its own alone: a server may see another part of the file system than
// the person at the terminal, and write none of it but its data directory.
package operator
