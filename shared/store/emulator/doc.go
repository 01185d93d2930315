// Package emulator brings up the official Firestore emulator for tests and for
// development, from whatever the machine has: a running one that
// FIRESTORE_EMULATOR_HOST names, the one that comes with gcloud, or the Firebase
// CLI's.
//
// A run of tests has one emulator. [Shared] gives it to any test of a package;
// cmd/withemulator starts one for many packages at once and names it in the
// environment. Tests keep apart by a project of their own, [Project].
//
// An emulator never outlives who started it, not even one that was killed: it
// runs under a small shell that reads a pipe from its starter and ends the whole
// process group when the pipe closes. A signal on the parent's death would need
// Linux, a locked thread, and a child that has no children; a pipe needs nothing.
//
// Nothing that ships may import this package.
package emulator
