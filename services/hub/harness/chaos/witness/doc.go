// Package witness keeps what clients were told and holds it against what a store has
// in the end.
//
// A [Book] takes down facts alone: what was answered, when it was asked and when the
// answer came. Some contradict each other at once, as one message with two readers;
// the rest is judged by [Book.Audit], over all documents of the users that took part.
// Where an attempt got no answer, what it may have done is allowed, and nothing else is.
//
// The package calls nothing and knows no transport: its tests make up books and stores
// that are wrong in one point each. Nothing that ships may import it.
package witness
