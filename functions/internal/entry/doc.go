// Package entry is the code behind the names of the functions. It translates a call of the Functions Framework into the
// call of a reaction or of a sweep, and the outcome into an answer.
//
// Eventarc delivers an event again after any status but 2xx. So only failures that a later delivery may overcome are
// answered with an error. Events that cannot be decoded, are too old or are refused are dropped and logged.
//
// The store and the sender of pushes are opened by the first call, not when the program starts: a failure then affects
// that call alone, and the next call tries again. No rule of a domain may live here.
package entry
