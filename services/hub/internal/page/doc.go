// Package page serves the console: one page, at every address of its views, on which a person sees the work of their
// agents, answers and directs them. /q/{id} is the question that a push notification opens, and / the inbox.
//
// The page is static and holds no user's data: an HTML document, native ES modules with one custom element a view, and
// style sheets. Its scripts sign the browser in, with the code of a one-time link or with Firebase Auth, and then call the
// same REST routes as every other client. So no rule of a domain may live here, and the package does not read the store.
//
// A browser that a person makes a device runs the service worker /sw.js. It shows pushes, answers a question from a button
// of its notification with the push's one-time token, and holds no key. It caches nothing.
//
// The page sets no cookies. Each call carries a bearer token that only the page's own origin can read, so a page of
// another origin cannot forge requests, and no CSRF token is needed. The token is kept in localStorage, because every
// push opens a new tab and a person would otherwise have to sign in for every push. Of Firebase's two tokens only the
// refresh token is stored; the ID token stays in memory. The stored token is safe as long as no foreign script runs:
// the content security policy allows the script files here, no inline script and, with trusted types, no markup made
// from strings and no worker but that one. Text from agents is only ever set as text; Markdown in it becomes elements
// that are made one by one.
package page
