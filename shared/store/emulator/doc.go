// Package emulator starts the official Firestore emulator for tests and development. It uses a running emulator that
// FIRESTORE_EMULATOR_HOST names, the one that comes with gcloud, or that of the Firebase CLI.
//
// A test run has one emulator. [Shared] returns it to the tests of a package; cmd/withemulator starts one for many
// packages and names it in the environment. Tests are isolated by projects of their own, from [Project].
//
// An emulator ends with the process that started it, even if that is killed; see [parley.internal/shared/supervise].
//
// Code that ships must not import this package.
package emulator
