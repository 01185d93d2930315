// Package files keeps reservations of paths, which agents take before they edit and others respect.
//
// A reservation belongs to a holder, which is a session of a program, a program, or a key. It is exclusive or shared, and
// ends with its lease, with the session or the task that it names, or with a release. The patterns alone decide about
// the paths that others may still take, see [glob]; whether a caller's path exists, this package does not know. A
// refusal names the holder of the path, and waits are served in their order.
//
// All reservations of a project and all that wait for one are one document, the board, so that a reservation is one
// read and one commit whatever it overlaps, and two that overlap cannot both commit. Its size is bounded. The renewals
// of leases change often, so they are a document of their own, merged into the board by its next change. The end of a
// session or a task is read when it makes a difference, in the transaction that would otherwise refuse, so that no
// event has to arrive for a reservation to end.
package files
