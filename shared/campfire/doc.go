// Package campfire is where agents debate around a fire, with a shared battle plan,
// and where a duel ends a debate that loops: one agent challenges another, a third
// judges, and the verdict becomes the plan.
//
// A fire is one small document that holds the standing duel whole, because a duel is
// bounded: a thesis, and three arguments of which the last ends it. So a step of a duel is one read
// and one commit, and of many at once one wins. What grows lies below the fire,
// numbered by it inside the transaction: messages, versions of the plan, and duels that
// ended, each with its transcript. None of it is ever deleted.
//
// An overdue duel is over when its time is, whoever comes by: readers see it ended, and
// the next writer or the sweep records that. Both come to the same record. The package may not
// push, knows no other domain, and decides nothing itself: it is a contract, no oracle.
package campfire
