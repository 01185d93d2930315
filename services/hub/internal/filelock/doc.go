// Package filelock locks files between processes. The system releases a lock when its file is closed or its process ends,
// so no lock is left by a kill. What a lock protects, and what its file says, is its users' affair.
package filelock
