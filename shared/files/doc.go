// Package files keeps who edits what: reservations of paths, which agents take before they edit and others respect.
//
// A reservation belongs to a holder, which is a session of a program, a program, or a key. It is exclusive or shared, and
// ends with its lease, with the session or the task that it names, or with a release. What it leaves to others is
// decided by the patterns alone, see [glob]; whether a caller's path exists, this package does not know. A path that is
// taken is told with its holder, and waits are served in their order.
//
// All reservations of a project and all that wait for one are one document, the board, so that a reservation is one
// read and one commit whatever it overlaps, and two that overlap cannot both commit. Its size is bounded. The renewals
// of leases change often, so they are a document of their own, merged into the board by the next change of it. That a
// session or a task has ended is read when it makes a difference, in the transaction that would otherwise refuse, so
// that no event has to arrive for a reservation to end.
package files
