// Package dispatch is the task queue: agents create tasks, claim them under a lease, and complete
// them.
//
// Claims are fenced. Each claim of a task gets a higher number, its claimToken. Completing, renewing
// and releasing require the current number, so that an agent that lost its lease cannot complete a
// task that another has claimed since. The lease is a small document of its own, because it is
// renewed often and a renewal must not wake calls that wait for the task.
//
// The package contains the transactions and operations of the queue. The task, its lifecycle and its
// lease are in package task, which other domains share. The package imports no other domain.
package dispatch
