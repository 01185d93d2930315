// Package passkeys lets a person sign in with a passkey, and prove with one that an act is theirs.
//
// A passkey (WebAuthn) is a key pair whose private half stays in a phone, a laptop's secure chip or a password manager,
// and is used only after that has seen its person. A program on the person's account can read every other sign-in; it
// cannot use a passkey. So a question may demand one, and then takes an answer that the passkey was used for: its
// challenge is bound to the question and to the words of the answer.
//
// The first passkey has the trust of its moment, as the first paired device has, and demands a device once one is paired.
// After that nothing but a passkey adds another or removes one, nor does the next link pair by itself; the operator at a
// terminal may remove one that was lost. A sign-in makes a key like that of a paired browser, which is revoked with the
// passkey.
//
// Ceremonies take two calls. The first makes a challenge of 32 random bytes, which is kept in the store, is good once
// and for 5 minutes, and has one of a fixed number of places, so that challenges stay few. The second shows the
// signature of the passkey. Signatures, origins and counters are checked by github.com/go-webauthn/webauthn.
package passkeys
