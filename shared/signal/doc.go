// Package signal asks a human and brings the answer back to the agent, and tells a
// human what needs no answer.
//
// A question is a task of type question for the target user, so it stands in the
// same collection and under the same lifecycle as all work. It is answered once,
// by a person, and an agent that waits is woken by the answer. An alert is a task too,
// one that nobody takes up and that shows only to who asks for alerts. The package
// imports no other domain.
package signal
