// Package claims has claimers reserve patterns of files that overlap, on hubs that are killed with SIGKILL, and looks for
// double holders: two claimers of whom each was told that it holds a file, at the same time, and one of them exclusively.
//
// The files that a pattern matches are known from how it was made, so the witness shares no code with the domain. A claim
// counts as held from the arrival of its answer until its release is sent, which is within the time that the server
// means; so whatever the witness finds is a violation. Every claim has an idempotency key, and a claim whose outcome
// stays unknown is released.
//
// SQLite has one hub at a time, since a second one cannot open the file: two versions of the program that keep other
// indexes take turns, and each is refused while the other runs. Over Firestore two hubs serve the same claimers. A hub
// sleeps in the middle, for longer than a minute in make chaos, and finds that its clock has jumped.
package claims
