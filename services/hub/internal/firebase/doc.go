// Package firebase knows people by the ID tokens that Firebase Auth gave their apps,
// beside the keys of kind human. It only verifies: who may do what is the catalogue's,
// and how often a token is looked up the authenticator's, which keeps an answer for
// less than a minute as it does for a key. A token is asked about each time, so that one that was
// revoked ends as soon as a key does.
package firebase
