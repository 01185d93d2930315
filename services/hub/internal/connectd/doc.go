// Package connectd is the one process of a user on a machine that holds the connection to the server for all sessions of
// agents' clients, so that a hook is answered from memory, however far the server is, and the server holds one wait for a key.
//
// The first hook starts it, and it ends when the last session has ended. A wait reports the changes of all sessions:
// mail is then fetched for a session whose model works, a pause is remembered, and an idle agent is woken by the means
// of its client. Where no hook reports the end of a session, the end of the client's process does.
//
// The facts that must survive a kill are in the sessions' states on the disk, written before anybody is told: a pause,
// the receipts of shown mail, the wakes that were made, and the position in a client's record, also in that of a session
// that has ended, which the client may yet write. Mail that was fetched and not shown, or shown and not confirmed, comes
// again from the server, which marks it.
//
// While a hook waits for a person's answer to a permission request, the daemon takes the question back where the client goes
// on without it, or kills the hook.
package connectd
