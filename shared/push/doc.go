// Package push is the port by which a human's devices are rung: what a push says, and the [Sender] that brings it
// there. It knows no users, no store and no rules of who is rung when; those are the domain's that has something to
// tell. A driver stands in a package of its own below this one.
//
// A sender reports on every token by itself, because one device that is gone must not keep the others silent.
package push
