// Package signin serves the two routes by which a person signs in with a passkey. Nobody is known before, so they take no
// key: the challenge of the first one, signed by the passkey, stands in for it in the second.
package signin
