// Package pulse tracks the presence of agents: their sessions, the activity of each, and the
// sessions that have become silent.
//
// A session and its heartbeat are two documents. The session changes rarely, and its changes wake
// the calls that wait for it; the heartbeat changes continually and must wake none. A live session
// always has a heartbeat: both are created in one transaction, and a sweep deletes the heartbeat
// last, so that the next sweep finds the work of an interrupted one.
//
// The package releases no claims, sends no messages and no pushes: sweeps call [Claims] and
// [Mail], reactions [Notifier]. It imports no other domain.
package pulse
