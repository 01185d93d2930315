// Package auth turns the bearer key of a request into a caller, limits how often callers call, and records refusals.
//
// A key that was found good is cached for at most 55 seconds. A key revoked anywhere therefore stops working everywhere
// within a minute, at the price of one read a minute; in the process that revoked it, it stops at once.
//
// Failed look-ups are limited, and good keys are not. An origin, which is an IPv4 address or a /64 network of IPv6, may
// send 30 bad keys at once and one more every two seconds. After that its look-ups of unknown keys wait for their turn,
// four of them at once (and 32 at once of all such origins), and a bad key is answered 429. So a flood of bad keys costs
// four look-ups at a time, which is some hundred a second on Firestore, and only bad keys are refused for it: a cached
// key needs no look-up, a key that was good at its last look-up waits for no turn, and any other good key waits at most
// for those that came before it. Only if that takes more than ten seconds is it refused, with 429.
//
// Every refusal leaves a line in the log, ten at once for an origin and one more every ten seconds; the next line, or one
// a minute later, has the number of lines that were left out.
//
// Whether a bearer secret is a key or a person's sign-in is decided by [Beside], behind [Keys]. The package does not know
// scopes: each operation decides about the rights of a caller.
package auth
