// Package emulator brings up the official Firestore emulator for tests and for
// development, from whatever the machine has: a running one that
// FIRESTORE_EMULATOR_HOST names, the one that comes with gcloud, or the Firebase
// CLI's.
//
// A run of tests has one emulator. [Shared] gives it to any test of a package;
// cmd/withemulator starts one for many packages at once and names it in the
// environment. Tests keep apart by a project of their own, [Project].
//
// An emulator ends with the process that started it, even where that was killed;
// see [parley.internal/shared/supervise].
//
// Nothing that ships may import this package.
package emulator
