// Package relay is the mail between programs: a document a recipient, read by
// state, so that nothing is missed and nothing is handed out twice.
//
// A message waits (pending) until it is read, is then delivered, and a DIRECTIVE
// or QUERY is delivered again until it is acknowledged. What is due for delivery
// has dueAt; what is not has none. An inbox is one query over what is due, by
// priority and age, and never a cursor: neither clocks nor ids follow the order of
// commits, so a reader that remembers a place would lose mail.
//
// A message to a group or to all is a copy for each recipient, written in one
// transaction; nothing remembers the group. What must happen to a message if nobody
// reads it has one time, sweepAt, kept by the rules of [Message] at every change: a
// sweep asks one index over all users, and never passes over live mail.
//
// The package may not make tasks, and imports no other domain: which programs
// there are it asks of a [Directory], and which of them are there now of [Presence].
package relay
