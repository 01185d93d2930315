// Package txproxy is a proxy between hubs and the Firestore emulator that rolls back the open transactions of a hub
// that was killed.
//
// A transaction whose client is gone can never commit, but the emulator keeps its locks for a minute all the same: with
// a hub killed every few seconds all the others would soon do nothing but wait. The proxy knows the open transactions of
// each connection and rolls them back when it ends. It changes nothing else: calls go through as they are, and one that
// has arrived is carried out although its hub has died since, so that some commits are never acknowledged.
//
// Nothing that ships may import this package.
package txproxy
