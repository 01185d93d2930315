// Package runner starts the teammates of one team on this machine, keeps them, and ends them, so that nobody needs a
// terminal multiplexer.
//
// The server says what is wanted, the runner says what became of it. It claims a process before it starts one, and
// writes down what it claimed and started before anything runs, in its journal: whoever comes after a runner that was
// killed finds those that live by PID and start time, and can say of the others what became of them. A server that is
// away changes nothing for those that run. What a process's end was is told until the server has acknowledged it, by
// this runner or the next.
//
// What the server says fills in arguments of a command that the operator chose, and picks a directory under a root that
// the operator allowed; it never reaches a shell, the program's name, or the environment. No rule of a team may live
// here.
package runner
