//go:build race

package app

// killEvery is the number of steps between two kills. The race detector makes the embedded store ten times slower; the
// tests also run without it, with a kill at every step.
const killEvery = 7
