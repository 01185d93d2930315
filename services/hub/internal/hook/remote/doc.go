// Package remote calls the few operations of the server that hooks and their daemon need, with the types of package wire
// and the standard library alone: the typed client of all operations is too large for a program that starts at every tool
// call. Nothing is tried again here: a hook has no time for it, and a daemon has its own rhythm.
package remote
