// Package auth holds the tests of the hub's authentication that need a running hub: the expiry, the revocation and the
// recorded use of a key, and the answer to a key past its rate. The rules that need no hub are tested in the hub's own
// package of this name.
package auth
