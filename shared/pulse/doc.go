// Package pulse is the presence of agents: which sessions there are, what each is
// doing, and which have gone silent.
//
// A session and its heartbeat are two documents. What a session says of itself
// changes seldom, and who follows it wants to know; a heartbeat comes all the time
// and must wake nobody, so it is kept apart. A live session always has a heartbeat:
// both are made in one transaction, and the heartbeat goes last when a silent
// session is swept, so that a sweep which was ended finds its work again.
//
// The package releases no claims, sends no messages and rings nobody: a sweep asks
// [Claims] and [Mail] to, a reaction [Bell]. It imports no other domain.
package pulse
