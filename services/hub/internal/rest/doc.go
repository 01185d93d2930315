// Package rest serves every operation as a REST route, and the parts of HTTP that both transports share: request IDs,
// limits of bodies, checks of origins and hosts, and the envelope of answers and faults.
//
// A route folds its path, query and body into the one JSON object that the operation's schema describes, so that a
// call means the same here and over MCP. No rule of an operation may be in this package.
package rest
