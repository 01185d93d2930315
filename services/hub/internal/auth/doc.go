// Package auth turns a request's bearer key into a caller.
//
// A key that was good is taken as good for at most 55 seconds, so a key revoked
// anywhere stops working everywhere within a minute at the price of one read a
// minute; in the process that revoked it, it stops at once. Failures are limited
// by address, and a key that is known already passes whatever its neighbours do.
// A person's sign-in is looked up as a key is, by whoever stands behind [Keys].
// What a key may do is decided elsewhere, by the operation.
package auth
