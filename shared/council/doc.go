// Package council lets one agent ask the others: it opens a council with a request,
// they answer, and it concludes.
//
// A session is one small document: who takes part, how many responses there are and
// how often it changed. Requests, responses, rankings and what each participant has
// seen stand beside it, so that no document grows with the history and a beat wakes
// nobody. A response has its number from the session, given in the transaction that
// adds it, and is found by it: the numbers have no gaps, so a reader's place in them
// is a cursor that loses and repeats nothing.
//
// A cursor also knows how often the session had changed. Where that is still so, a
// reply says that nothing changed rather than all of it again.
//
// Councils end with the sweep and with no TTL: a store that drops the session by
// itself would leave what stands below it. The package imports no other domain.
package council
