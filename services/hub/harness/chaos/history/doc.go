// Package history records when calls about tasks and messages began and ended, and checks that one order of all calls
// explains all answers: that the history is linearizable. The check is that of porcupine.
//
// A call is one entry from its first attempt to its last, because a repeated attempt must take effect once. So an entry
// may take effect at any time between. Each task and each message has a history of its own.
//
// Nothing that ships may import this package.
package history
