// Package council lets one agent consult the others: it opens a council with a request, the others respond,
// and it closes the council with a conclusion.
//
// A session is one small document: the participants, the number of responses and a revision. Requests,
// responses, rankings and the read state of each participant are documents of their own, so that the session
// does not grow with its history, and recording that a participant has read it wakes no waiting call. The
// session numbers the responses without gaps, inside the transaction that adds one, and a response is stored
// under its number. A position in these numbers is therefore a cursor that neither skips nor repeats a response.
//
// A cursor also holds the revision of the session. While that is unchanged, a reply has only the status and the
// counts instead of the whole summary.
//
// A call that names no council means the one that its agent started or joined last, if it is active, else the newest
// active one, else the newest closed one. A closed council is never the agent's own while another is active, so that the
// agents of one that ended are in the next one without a word.
//
// Councils are deleted by the sweep and not by a TTL of the store, because a TTL would delete the session and
// leave the documents below it. The package imports no other domain.
package council
