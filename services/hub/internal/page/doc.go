// Package page serves the web page that a push notification opens: one question at /q/{id}, where a person answers it,
// and the list of open questions at /q.
//
// The page is static and holds no user's data. Its script signs the browser in, with the code of a one-time link or
// with Firebase Auth, and then calls the same REST routes as every other client. So no rule of a question may live
// here, and the package does not read the store.
//
// The page sets no cookies. Each call carries a bearer token that only the page's own origin can read, so a page of
// another origin cannot forge requests, and no CSRF token is needed. The token is kept in localStorage, because every
// push opens a new tab and a person would otherwise have to sign in for every push. Of Firebase's two tokens only the
// refresh token is stored; the ID token stays in memory. The stored token is safe as long as no foreign script runs:
// the content security policy allows the one script file here, no inline script and, with trusted types, no markup made
// from strings. Text from agents is only ever set as text.
package page
