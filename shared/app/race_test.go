//go:build race

package app

// killEvery is how many steps lie between two kills. The race detector makes the
// embedded store an order slower; the tests run without it too, at every step.
const killEvery = 7
