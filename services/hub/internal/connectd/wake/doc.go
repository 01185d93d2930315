// Package wake decides whether a message, an answer or a task wakes an idle agent.
//
// A wake costs a turn of a model, so wakes are few: of certain kinds and senders, one at a time, so many an hour and so many
// an hour from one sender. Two agents that do nothing but wake each other are stopped after a number of exchanges, and the
// person is told. A wake that has no effect is made once more. A message that does not wake is not lost: it waits in the
// inbox, and the next turn reports it.
//
// The state is plain data that its holder stores, and the clock is a parameter.
package wake
