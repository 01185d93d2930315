// Package witness records the answers that clients got and compares them with the final state of a store.
//
// A [Book] records only facts: the answers, and the times at which each call was sent and answered. Some facts
// contradict each other, such as two deliveries of one message, and are reported at once. The others are checked by
// [Book.Audit] against all documents of the user. If an attempt got no answer, its possible effects are allowed, and
// nothing else.
//
// The package makes no calls and knows no transport, so that its tests can construct books and stores with one defect
// each. Nothing that ships may import it.
package witness
