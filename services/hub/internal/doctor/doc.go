// Package doctor looks at what a deployment stands on, and says what to do about what is
// not well: [Cloud] at a project of Google's, [Emulator] at a Firestore emulator, and
// [Laptop] at the file of the embedded store.
//
// A check is a name and a function of a context to one [Result]. They run beside each
// other, each within its own time, so that one that finds nobody keeps none of the others
// from answering and all of them end about when the slowest may.
//
// What may not be seen is a warning and names the role that would show it: whoever runs
// the doctor may well have fewer rights than the deployment. What may be seen and is not
// well is a failure. The read through the store is the one check that must have its
// rights, so that a project which is not there at all is never taken for one that is well.
//
// Nothing is changed: the cloud is only asked, and a store's file is opened so that not
// even SQLite's own files come to be beside it.
package doctor
