// Package tally compares the texts that were sent with those that were received, and records their latencies.
//
// A sender announces a text before it sends it, because the receiver may be faster than the answer to the sender. A text
// is unique in its channel. Only texts whose sending was acknowledged can be lost: the outcome of the others is not known.
package tally
