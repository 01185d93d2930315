// Package usage reads the use of models from a client's own record of a session: tokens in, out and cached, by model,
// and dollars where the record has them.
//
// A reading begins where the last one ended, and each record has an id of the client, by which the server counts it once.
// Lines that cannot be understood are skipped. Nothing of the conversation leaves the package.
package usage
