// Package campfire is the debate of agents at a fire: messages around a shared battle plan, and duels, whose verdict
// becomes the plan. A fire has at most one duel at a time, in which one agent challenges another and a third one judges.
//
// A fire is one small document that contains the standing duel. A duel is bounded, because it has a thesis and three
// arguments, of which the last one ends it. A step of a duel is therefore one read and one commit, and of concurrent
// steps one succeeds. Documents below the fire hold the lists that grow: messages, versions of the plan, and duels that
// ended, each with its transcript. The fire numbers them inside the transaction that adds one. A sweep deletes a fire
// with all of them a long time after its last word or change.
//
// The seats of a duel belong to the callers that took them: the Challenger's and the Judge's with the challenge and the
// oath, the Defender's with the first call under the name that was challenged. Nobody else moves for a seat, whatever
// name it gives, but a person; and where a person took a seat, the program in its name.
//
// A duel past its deadline has ended. Readers see it as ended, and the next call that changes the fire, or the sweep,
// records the end; both produce the same record. The package does not send notifications, imports no other domain,
// and judges no arguments itself.
package campfire
