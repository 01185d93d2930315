// Package compose has the tests of deploy/compose: its file is loaded by the library of Docker Compose, and must keep what
// the page about servers promises of it.
package compose
