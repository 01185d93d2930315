// Package journal keeps the state that a runner's successor needs after the runner was killed: the runner's ID, the
// processes that it claimed and started, and the ends that it has yet to report.
//
// Each record is a file that is written under another name, synced and renamed, so that a kill or a power failure
// leaves the old record or the new one. A record is removed only when the server has acknowledged the end of its
// process. Only one runner at a time has a journal; a file lock that ends with the runner's process ensures that.
//
// The package stores records and may not interpret them.
package journal
