// Package hub is the server as a runner calls it: what it wants of this runner's processes, and how it is told what
// became of them.
//
// It tells apart what a runner must tell apart: a server that is away, a process that is not ours, one that is gone, a
// key that is not good. Neither the key nor the runner's id is in any error. It repeats nothing by itself.
package hub
