// Package keys makes, lists, revokes and looks up the bearer keys by which
// callers are known.
//
// A key is parley_<user>_<secret>, the user in base32, so that finding it is one
// read of that user's apiKeys by the key's SHA-256. The secret has 256 bits from
// the system's random source, which is why a plain hash is enough: nothing can be
// guessed. Only the hash is kept. How long a look-up is cached and how failures
// are limited is the server's affair, not this package's.
package keys
