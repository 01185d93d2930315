// Package signal carries questions from agents to a human and the answers back, and alerts, which
// need no answer. It also sends pushes to the human's devices.
//
// A question is a task of the type question for the target user, in the same collection and under
// the same kind of lifecycle as all tasks. It is answered once, by a person, and the answer wakes
// an agent that waits for it. Its asker may take it back while nobody has answered; a later answer
// is refused with the reason. An alert is a task too, which no agent takes up and which appears
// only in queries for alerts.
//
// Changes of tasks of all types may send a push. A table of pure rules selects these changes. One
// transaction decides whether a push is sent: it marks the event and counts the push against the
// limits. The push is sent after it, under a lease, because a push cannot be undone: if the process
// dies, another sends the push when the lease has run out, and the later push replaces the earlier
// on the device. Delivery to devices belongs to a [push.Sender]. The package imports no other
// domain.
package signal
