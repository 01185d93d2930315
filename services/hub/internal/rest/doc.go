// Package rest serves every operation as a REST route, and what HTTP needs around
// both transports: request ids, body limits, origins, and the envelope in which
// answers and faults come.
//
// A route folds its path, query and body into the one JSON object that the
// operation's schema describes, so that a call means the same here and over MCP.
// No rule of an operation may live here.
package rest
