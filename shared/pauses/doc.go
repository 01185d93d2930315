// Package pauses lets a person halt agents: one agent, a program, a team, a project, or everything. While a pause holds,
// claims and messages of those that it halts are refused with the words of the person; reports and waits go on, so that
// nothing that was begun is lost.
//
// The rule which caller a pause halts is that of package identity, and the catalogue applies it to the operations that
// say that they start something. A claim also asks it for the project of its task. This package keeps the pauses. It
// may import no other domain.
package pauses
