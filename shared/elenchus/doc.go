// Package elenchus is adversarial verification: a verifier raises issues about a
// target, a critic challenges them, turn by turn, until the server says that they have
// converged. All agents of a verification share one context of files.
//
// What shaped it is that a round costs the same however many came before. The session
// document has what a round needs: counters, the issues named in the last four rounds,
// and whose turn it is. Issues are fetched by the ids that a round names, files by their
// paths; what was said is stored whole, beside the record of its round. A round is three
// RPCs (four with an idempotency key), every other call at most three.
//
// A checkpoint copies only the session's state. Every change keeps what it replaced in a
// step; a rollback takes the steps since back, the latest first, as many at once as a
// transaction holds. Until all are back the session says where it is going, so that a
// rollback that was cut short is finished by the next call that changes anything, and
// reads are refused. Rounds taken back stay in the record, marked; newer texts of files
// go. An old text is kept while a checkpoint needs it, and counts towards the 20 MiB.
//
// The rules that the roles play by:
//
//   - An issue that a round names for the first time is RAISED. Named again by the other
//     role it is CHALLENGED, by its own RAISED again; a closed one is open again. It keeps
//     its first words and takes the newest severity.
//   - issuesResolved closes: as RESOLVED, or as DISMISSED where the role that
//     challenges it does so. Ids that are unknown or closed come back in notResolved and
//     count for nothing; the rest of the round stands.
//   - What is open when the verification ends is UNRESOLVED from then on, by being shown
//     so: the end writes one document.
//   - A round that names no new id is one without new issues. After one, with no critical
//     issue open, the status is converging; converged and forced_stop take no more
//     rounds, but can be gone back from or ended. The last round of maxRounds makes it
//     forced_stop, also where it converges.
//   - One that nobody touches for a week is stopped by a sweep, and deleted with all below
//     it 90 days after its end, so that no TTL can leave a part of it.
//
// The server reads files through a [Reader], where it stands on the agent's machine
// (package workspace, below, has one); elsewhere it says what it wants. Of the target's
// files the direct imports are followed, no further, and nothing outside of the working
// directory is ever named; package source, below, finds them. The package imports no other domain.
package elenchus
