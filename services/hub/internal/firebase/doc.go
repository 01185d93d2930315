// Package firebase authenticates people by the ID tokens that Firebase Auth issues to their apps. It stands beside the
// keys of kind human.
//
// The package only verifies tokens. Authorization belongs to the operations, and caching to package auth, which keeps
// the result of a look-up for less than a minute. Each look-up asks Firebase whether the token was revoked, so a
// revoked sign-in ends as soon as a revoked key does.
package firebase
