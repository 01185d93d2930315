// Package memory tells how much memory the process may take, and makes the garbage collector respect it.
package memory
