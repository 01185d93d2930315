// Package firebase authenticates people by the ID tokens that Firebase Auth issues to their apps. It stands beside the
// keys of kind human.
//
// The package verifies tokens, and asks package admission whether the server admits the person: by the token, which
// costs nothing, and then by the account as it is now. Authorization belongs to the operations, and caching to package
// auth, which keeps the result of a look-up for less than a minute. So a revoked sign-in, a disabled account and a claim
// or a verified address that was taken away end as soon as a revoked key does.
package firebase
