// Package sleep pauses until a time has passed or a context ends. It needs the standard library alone, so that a pause
// adds nothing to the programs that have one: the same function of gax brings gRPC with it.
package sleep
