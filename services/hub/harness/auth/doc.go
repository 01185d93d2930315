// Package auth holds the tests of the hub's authentication that need a running hub: the expiry, the revocation and the
// recorded use of a key, and the response to a key past its rate. The hub's own package auth holds the tests that need
// none.
package auth
