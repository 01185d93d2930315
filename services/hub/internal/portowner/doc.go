// Package portowner names the listener at a TCP address that a server cannot have, for the text of its error.
//
// A Parley server is known by the answer to its health check, which works on every platform. Another process is looked up
// in /proc on Linux, and is found if it belongs to the same account or the caller is root; elsewhere nothing is known of it.
package portowner
