// Package worker serves a program's queue with a client of agents: it claims the next task, runs the client headless with
// the task as its prompt, renews the claim while the client works, and ends the task with the client's last words and
// usage. There is one task at a time.
//
// Where the worker may make keys, each task has one of its own, which is revoked at the task's end. The claim, the key,
// the process and its end are in the journal, for a successor, before they take effect. A successor of a worker that
// was killed watches a client that still works, ends a task whose client has ended, and gives any other back. Without a
// successor the task goes back to the queue when the claim's lease is over.
//
// A task fails only if its client worked on it. A client that cannot begin, because it is not signed in for example, costs
// no task: the task goes back, and after some in a row the worker ends with an error.
//
// No rule of the queue may live here.
package worker
