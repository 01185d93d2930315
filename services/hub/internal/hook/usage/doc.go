// Package usage reads what a client's own record of a session says about the use of models: tokens in, out and cached, by
// model, and dollars where the record has them.
//
// A reading begins where the last one ended, and each record has an id of the client, by which the server counts it once.
// What cannot be understood is passed over. Nothing of the conversation leaves the package.
package usage
