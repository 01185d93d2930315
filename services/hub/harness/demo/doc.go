// Package demo plays a scripted day of six agents into a store: a sprint, a team, mail, questions, a council, a duel and
// a verification.
//
// Every step is a call of an operation with the right of its caller, at the time that the script names, so that the
// store holds the objects that six real agents would have left there. The day ends at the time that the player is
// given.
package demo
