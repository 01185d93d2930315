// Package teamdir reads and writes a team as a directory of JSON files: config.json, inboxes/<member>.json and
// tasks/<id>.json, or tasks/<name>/<id>.json beside the directory teams in which it is.
//
// The package knows the files only; package team of the shared module decides whether a team is valid. Reading returns
// a whole team or an error, and writing takes a new or empty directory, so that nothing is overwritten.
package teamdir
