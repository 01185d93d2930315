// Package doctor checks a deployment and tells how to repair it: [Cloud] checks a Google Cloud project, [Emulator] a
// Firestore emulator, and [Laptop] the file of the embedded store.
//
// A check is a name and a function from a context to one [Result]. All checks run at once, each within its own time
// limit, so that a check without an answer delays no other and [Run] takes about as long as the longest limit.
//
// A setting that the caller may not read is a warning that names the role which would show it, since whoever runs the
// doctor often has fewer rights than the deployment. A setting that is read and is wrong is a failure. The read through
// the store is the one check that fails without its rights, so that a missing project never passes.
//
// The package changes nothing: it only queries the cloud, and it opens a store's file so that not even SQLite creates
// its own files beside it.
//
// The build tag laptop leaves out the checks of the cloud and of the emulator, and with them Google's clients.
package doctor
