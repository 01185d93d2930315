// Package firestore is the store's driver for the cloud: documents under users/{uid}/… of a Firestore database or of
// its emulator.
//
// The cost of a call is its round trips, so the driver uses the plain gRPC client (apiv1) and decides on every RPC: the
// first read of a transaction opens it, a transaction without reads is one Commit, and a rollback runs in the
// background. The transactions of the client library would add a BeginTransaction to each. A call that takes documents
// away from other readers holds no locks: it reads outside of a transaction, and its commit names the time at which each
// document was last changed. Only listeners use the high-level client, for its resume tokens, on connections of their
// own, so that waiters cannot starve writers.
//
// Every write also sets the field changedAt to the server's time. The field belongs to the driver: listeners query by
// it, and it is removed from the documents that the driver returns.
//
// The package must not contain rules of the port (indexes, limits, cursors, the codec). It translates plans and writes
// into requests, and statuses into faults. The port refuses every request that is beyond Firestore, for both drivers
// alike.
package firestore
