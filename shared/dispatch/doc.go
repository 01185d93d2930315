// Package dispatch is the task queue: agents put work in, claim it under a lease,
// and finish it.
//
// A claim is fenced. Every claim of a task gets a higher number, its claimToken;
// who completes, renews or releases shows that number, so an agent that lost its
// lease cannot finish what another has taken over. The lease lives in a small
// document of its own, because it beats often and must wake nobody.
//
// The package holds the queue's transactions and operations; the task itself,
// its lifecycle and its lease are in package task, which other domains share. It imports no other domain.
package dispatch
