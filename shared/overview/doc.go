// Package overview shows a human what goes on: sessions, claimed tasks, waiting
// questions and unread mail, in one answer, and the next one when something changed.
//
// An answer carries a mark of what it shows. Who shows the mark of the last answer
// waits until there is another, so a live view is one waiting call and no polling.
// The package keeps nothing and changes nothing. It reads tasks, which the domains
// share, and asks the others through the ports that it declares.
package overview
