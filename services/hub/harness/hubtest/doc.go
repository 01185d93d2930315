// Package hubtest runs a whole hub in the process of a test, and calls it the two
// ways that clients do. It is for tests only: nothing that ships may import it.
package hubtest
