// Package keys creates, lists, revokes and looks up the bearer keys that identify callers, and
// the links that sign in a browser.
//
// A key is parley_<user>_<secret> with the user in base32, so that a lookup is one read of that
// user's apiKeys by the key's SHA-256. The secret has 256 random bits and cannot be guessed, which
// is why a plain hash is enough. Only the hash is stored.
//
// A key that a key makes is its child: it is never more than its parent, has the ids of all keys above it, and is valid as
// long as they are, so that one revocation ends them all. The keys of a team's members are made by the server as parts of
// a team's transactions.
//
// A machine without a key asks for one by a pairing, which a person approves by a code, as RFC 8628 has it. A pairing
// belongs to no user until then. The approved key is made when the machine collects it, out of the code that it holds and a
// salt, so that the store never has the key, and a machine that asks again gets the same one.
//
// The caching of lookups and the limit on failures belong to the server, not to this package.
package keys
