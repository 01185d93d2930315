// Package journal is what a runner must still know after it was killed: its own id, which processes it claimed and
// started, and what it has yet to tell the server.
//
// A record is a file of its own, written to another name, synced and renamed, so that a kill or a power cut leaves the
// old one or the new one. It goes when the server has acknowledged the end of its process, and not before. One runner
// at a time has a journal; a lock that ends with its holder keeps that.
//
// It keeps what it is given. Nothing here may ask what is in it.
package journal
