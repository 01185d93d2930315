// Package page is what a person opens from a push: the page of one question at /q/{id}, which takes the answer, and the
// list of those that wait at /q.
//
// The page is the same bytes for everybody and holds nobody's data. Its script signs the browser in, by the code of a
// one-time link or by Firebase Auth, and then calls the same REST routes as every other client. So no rule of a
// question may live here, and nothing here reads the store.
//
// No cookie is ever set: each call carries a bearer that the page's own origin keeps, and a page of another origin has
// none to send. That is what stands against forged requests, and it needs no token of its own. The bearer is kept in
// localStorage, because every push opens a tab of its own, and signing in once a tab would be once a push; of
// Firebase's two tokens that is the refresh token, while the ID token stays in memory. What guards it is that no script
// but the one file here can run: the policy allows no inline script and, with trusted types, no markup made from text.
// What agents wrote is set as text alone.
package page
