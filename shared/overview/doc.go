// Package overview gives a human one view of the current activity: sessions, claimed tasks,
// queues, waiting questions, alerts, unread mail, mail to unknown names, and programs that called without a session.
//
// A view carries a mark, a digest of its content. A call with the mark of the last view waits
// until the view differs, so that a live display is one waiting call without polling. The package
// stores and changes nothing. It reads tasks, which the domains share, and gets the rest through
// the interfaces that it declares.
package overview
