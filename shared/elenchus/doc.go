// Package elenchus is adversarial verification: a verifier raises issues about a target and a critic challenges them,
// in turns, until the server reports that they have converged. All agents of a verification share one context of files.
//
// The cost of a round does not grow with the rounds before it. The session document holds all that a round needs: the
// counts, the issues named in the last four rounds, and the next role. Issues are fetched by the ids that a round
// names, files by their paths. The output of a round is stored whole, beside the record of the round, and read back in
// parts of at most 64 KiB, the latest first. A round takes three RPCs, four with an idempotency
// key; any other call takes at most three.
//
// A checkpoint copies the state of the session only. Every change stores the values that it replaced in a step. A
// rollback reverts the steps since the checkpoint, the latest first, as many in a transaction as it holds. The session
// has the round of the rollback until all steps are reverted. Meanwhile reads are refused, and the next call that
// changes anything finishes an interrupted rollback first. Rounds that were rolled back stay in the record, marked;
// newer texts of files are deleted. An old text is kept while a checkpoint needs it, and counts towards the 20 MiB.
//
// The rules for the roles are:
//
//   - An issue that a round names for the first time is RAISED. Named again by the other role it is CHALLENGED, and by
//     its own role RAISED again; a closed issue is reopened. It keeps its first text and takes the newest severity.
//   - issuesResolved closes issues: as DISMISSED if the role that challenged an issue closes it, and as RESOLVED
//     otherwise. Unknown and closed ids are returned in notResolved and not counted; the rest of the round is accepted.
//   - An issue that is open when the verification ends is shown as UNRESOLVED. It is not rewritten, so that the end
//     writes one document.
//   - A round that names no new id is a round without new issues. After such a round, and with no critical issue open,
//     the status is converging. The statuses converged and forced_stop accept no more rounds, only a rollback or an
//     end. The last round of maxRounds sets forced_stop, unless the verification converges in it.
//   - A role belongs to the caller that submits its first round; the caller that started the verification, and people,
//     play both roles. Once both are taken, nobody else adds files or takes checkpoints. Only the caller that started a
//     verification and people end it or roll it back. The record names the caller that did.
//   - A sweep stops a verification without activity for a week. It deletes one 90 days after its end, with all
//     documents below it, because a TTL of the store would leave some of them.
//
// A target that is a directory stands for the text files in it and below it, the nearest first. Where the server cannot
// read it, filesWanted has dir/** for it, unless the call brings files of it.
//
// The server reads files through a [Reader] where it runs on the machine of the agent, for the users that its operator
// names; package workspace has one. Elsewhere it reports the files that it wants. It follows the direct imports of the
// target's files and no others, and names no path outside the working directory; package source finds them. The package
// imports no other domain.
package elenchus
