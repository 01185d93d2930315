// Package firestore is the store's driver for the cloud: documents under
// users/{uid}/… of a Firestore database, or of its emulator.
//
// What a call costs here is round trips, so the driver speaks the plain gRPC
// client (apiv1) and owns every RPC: a transaction's first read opens the
// transaction, a transaction that reads nothing is one Commit, and what is given
// up is rolled back off the caller's path. The client library's own transactions
// would spend a BeginTransaction on each. Listeners alone use the high-level
// client, for its resume tokens, on a connection of their own, so that waiters
// cannot starve writers.
//
// Every write also sets changedAt to the server's time. It is the driver's own:
// listeners stand on it, and it is taken off whatever is read.
//
// The package may not hold rules of the port (indexes, limits, cursors, the
// codec): it turns plans and writes into requests, and statuses into faults. What
// Firestore cannot do is refused in the port, for both drivers alike.
package firestore
