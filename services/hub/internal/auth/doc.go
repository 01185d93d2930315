// Package auth turns the bearer key of a request into a caller, and limits how often callers call.
//
// A key that was found good is cached for at most 55 seconds. A key revoked anywhere therefore stops working everywhere
// within a minute, at the price of one read a minute; in the process that revoked it, it stops at once. Bad keys are
// limited by address, and a cached key passes even if its address exceeded that limit.
//
// Whether a bearer secret is a key or a person's sign-in is decided behind [Keys]. The package does not know scopes:
// each operation decides what a caller may do.
package auth
