// Package filelock locks files between processes. The system releases a lock when its file is closed or its process ends,
// so no lock is left by a kill. A process that goes on calls [Release]. The users of a lock decide about its purpose and the
// contents of its file.
package filelock
