// Package signal asks a human and brings the answer back to the agent, and tells a
// human what needs no answer.
//
// A question is a task of type question for the target user, so it stands in the
// same collection and under the same lifecycle as all work. It is answered once,
// by a person, and an agent that waits is woken by the answer. An alert is a task too,
// one that nobody takes up and that shows only to who asks for alerts.
//
// It is also what rings a human's devices, for tasks of every type: what rings is a
// table of pure rules, and whether it does is decided in one transaction, which marks the
// event and counts against the caps. Sending comes after, under a lease, because a push
// cannot be taken back: who dies in between is replaced once the lease is over, and the
// later push replaces the earlier on the device. The package brings nothing to a device
// itself, which a [push.Sender] does, and imports no other domain.
package signal
