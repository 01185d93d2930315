// Package relay is the mail between programs: messages to a program, a group or everybody, which are delivered again
// until they are acknowledged, or else become dead letters.
//
// Each recipient has a document of its own, and an inbox selects documents by their state, so that no message is missed
// and none is delivered to two readers.
//
// A message is pending until it is read and delivered afterwards. A DIRECTIVE or QUERY is delivered again until it is
// acknowledged. A message that is due for delivery has dueAt; any other has none. An inbox is one query over the
// messages that are due, by priority and age. It has no cursor: neither clocks nor ids follow the order of commits, so
// a reader that remembered a position would lose mail.
//
// A message to a group or to all is stored as one copy for each recipient, written in one transaction; the copies do
// not refer to the group. Every message has one time, sweepAt, at which a sweep must expire or delete it unless it is
// read before. The methods of [Message] keep that time current, so that a sweep reads one index over all users and
// never scans live mail.
//
// The package may not create tasks and may import no other domain: a [Directory] lists the programs of a user, and a
// [Presence] those with a live session.
package relay
