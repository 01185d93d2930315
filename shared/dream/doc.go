// Package dream manages dreams: unattended work of an agent, as tasks of the type dream with a
// budget, a branch and a time limit.
//
// A dream is created with create_task. This package lists the dreams that wait, and lets one agent
// take one up. The claim is that of the queue, with the same claim token and lease, so the package
// has no state of its own and claims through [Queue]. It imports no other domain.
package dream
