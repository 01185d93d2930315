// Package compose has the tests of deploy/compose: its file is loaded by the library of Docker Compose, and must keep
// the promises of docs/operate-server.md.
package compose
